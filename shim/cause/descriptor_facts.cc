// SPDX-License-Identifier: Apache-2.0
#include "shim/cause/descriptor_facts.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

namespace cuvmm::shim {

namespace {

constexpr rlim_t kMostLooked = 65536;

}  // namespace

DescriptorFacts count_descriptors() {
  DescriptorFacts facts;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kMostLooked) return facts;
  constexpr rlim_t kAtOnce = 256;
  pollfd some[kAtOnce];
  for (rlim_t first = 0; first < limit.rlim_cur; first += kAtOnce) {
    const auto count = static_cast<nfds_t>(std::min(kAtOnce, limit.rlim_cur - first));
    for (nfds_t i = 0; i < count; ++i) some[i] = {static_cast<int>(first + i), 0, 0};
    // poll() may report that an open descriptor hung up, but never that it is invalid.
    if (::poll(some, count, 0) < 0) return facts;
    for (nfds_t i = 0; i < count; ++i) facts.open += (some[i].revents & POLLNVAL) == 0;
  }
  facts.limit = limit.rlim_cur;
  return facts;
}

void add_makers(const ProcessHistory& history, DescriptorFacts& facts) {
  std::map<StackId, std::uint64_t> by_stack;
  for (const auto& [fd, one] : history.received) {
    if (!one.dma_buf) continue;
    ++facts.dma_bufs;
    ++by_stack[one.one.made.stack];
  }
  for (const auto& [fd, one] : history.model.exports()) {
    ++facts.exports;
    ++by_stack[one.made.stack];
  }
  for (const auto& [stack, count] : by_stack) {
    if (count <= facts.of_most) continue;
    facts.most = stack;
    facts.of_most = count;
  }
}

std::string DescriptorFacts::text() const {
  std::string text = std::to_string(open) + " of " + std::to_string(limit) +
                     " descriptors are open (RLIMIT_NOFILE)";
  if (dma_bufs != 0) {
    text +=
        ", " + std::to_string(dma_bufs) + " of them are dma-bufs of cuMemGetHandleForAddressRange";
  }
  if (exports != 0) {
    text += ", " + std::to_string(exports) + " are exports of cuMemExportToShareableHandle";
  }
  text += ": each is the program's to close()";
  if (of_most != 0) text += ". " + std::to_string(of_most) + " come from one call";
  return text;
}

}  // namespace cuvmm::shim
