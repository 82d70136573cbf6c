// SPDX-License-Identifier: Apache-2.0
// The session's objects that the program has not given back: memory, descriptors, and memory that
// launches of graphs allocated.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/words.h"
#include "recorder/holdings/in_use_text.h"
#include "recorder/holdings/words.h"
#include "rulebook/check/check_support.h"
#include "shim/objects/alive.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace {

// One entry for each place that exports.
void add_pool_descriptors(const ProcessHistory& history, AllInUse& all) {
  std::map<StackId, InUse> places;
  for (const auto& [fd, one] : history.exported_pools) {
    if (!history.still_exported(one)) continue;
    InUse& place = places[one.made.stack];
    if (place.count++ != 0 && place.first.made.call < one.made.call) continue;
    place.what = holdings::kPoolDescriptorWords;
    place.first = cuvmm::detail::ref(one);
    place.some_ended = true;
  }
  for (const auto& [stack, place] : places) all.push_back(place);
}

}  // namespace

AllInUse Session::in_use(std::chrono::milliseconds limit, std::span<const std::uint32_t> asleep) {
  if (!mutex_.lock_within(limit)) return {};
  const Locked lock(mutex_, kHeldAlready);
  const std::vector<std::uint32_t> threads = other_threads(asleep);
  AllInUse all = memory_in_use(history_.model, threads);
  Violations leaks;
  history_.add_left_dma_bufs(leaks);
  for (const auto& [fd, one] : history_.received) {
    const bool leak = std::ranges::any_of(leaks, [fd = fd](const Violation& v) {
      return v.objects.front().value == std::uint64_t(fd);
    });
    if (!one.dma_buf || leak || !history_.still_open(one)) continue;
    all.push_back({holdings::words(holdings::Descriptor::Kind::kDmaBuf), 1, one.one.size,
                   cuvmm::detail::ref(one.one), true});
  }
  for (const auto& [fd, one] : history_.model.exports()) {
    const Allocation* const a = history_.model.allocation(one.handle);
    const bool leak = !a || a->made.call > one.made.call;
    if (leak || !history_.still_exported(one)) continue;
    all.push_back({holdings::words(holdings::Descriptor::Kind::kExported), 1, 0,
                   cuvmm::detail::ref(one), true});
  }
  add_pool_descriptors(history_, all);
  add_graph_memory(all);
  return all;
}

// One entry for each place that launches.
void Session::add_graph_memory(AllInUse& all) {
  std::map<std::pair<StackId, bool>, InUse> places;
  for (const auto& [base, memory] : history_.causes.left_by_launches()) {
    InUse& one = places[{memory.launched.stack, memory.outlived.call != 0}];
    one.bytes += memory.size;
    if (one.count++ != 0 && one.first.made.call < memory.launched.call) continue;
    one.what = holdings::kGraphMemoryWords;
    one.outlived = memory.outlived;
    one.some_ended = history_.causes.any_freed_of(memory.launched.stack);
    one.first = {.kind = ObjectRef::Kind::kPoolMemory,
                 .value = base,
                 .size = memory.size,
                 .made = memory.launched,
                 .ended = {}};
    one.about = "call " + std::to_string(memory.launched.call) + " launched executable graph " +
                hex_text(memory.exec) + ", an allocation node of which allocated " +
                hex_text(base) + " (" + size_text(memory.size) + ")";
    if (memory.captured.call != 0) {
      one.about += "; call " + std::to_string(memory.captured.call) + " captured that node";
      one.about_stack = memory.captured.stack;
    }
    one.fix =
        "Free the memory behind the launch (cuMemFreeAsync, cuMemFree), or in the graph itself: "
        "capture the cuMemFreeAsync too, or add a free node (cuGraphAddMemFreeNode). The end of "
        "the graph frees none of it, nor does cuDeviceGraphMemTrim.";
  }
  for (auto& [place, one] : places) all.push_back(std::move(one));
}

}  // namespace cuvmm::shim
