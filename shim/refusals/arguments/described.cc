// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/arguments/described.h"

#include <chrono>
#include <new>

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForDescriptions{20};

// "cuEventElapsedTime" for "cuEventElapsedTime_v2".
std::string plain(std::string_view symbol) {
  for (const std::string_view end : {"_ptsz", "_ptds"}) {
    if (symbol.ends_with(end)) symbol.remove_suffix(end.size());
  }
  const bool versioned = symbol.size() > 3 && symbol.substr(symbol.size() - 3).starts_with("_v");
  return std::string(versioned ? symbol.substr(0, symbol.size() - 3) : symbol);
}

}  // namespace

bool DescribedRefusals::knows(std::string_view function, CUresult result) {
  if (!mutex_.lock_within(kPatienceForDescriptions)) return true;
  const Locked lock(mutex_, kHeldAlready);
  return all_.size() >= kMost || all_.contains({plain(function), result});
}

void DescribedRefusals::add(std::string_view function, CUresult result,
                            const Description& description) {
  if (!mutex_.lock_within(kPatienceForDescriptions)) return;
  const Locked lock(mutex_, kHeldAlready);
  if (all_.size() < kMost) all_.try_emplace({plain(function), result}, description);
}

DescribedRefusals::Description DescribedRefusals::of(std::string_view symbol, CUresult result) {
  if (!mutex_.lock_within(kPatienceForDescriptions)) return {};
  const Locked lock(mutex_, kHeldAlready);
  const auto found = all_.find({plain(symbol), result});
  return found == all_.end() ? Description() : found->second;
}

void DescribedRefusals::clear() {
  new (&mutex_) OwnedMutex();
  new (&all_) decltype(all_)();  // another thread may have been inside, so the child abandons it
}

DescribedRefusals& described_refusals() noexcept {
  alignas(DescribedRefusals) static unsigned char memory[sizeof(DescribedRefusals)];
  static DescribedRefusals* const table = new (memory) DescribedRefusals();
  return *table;
}

}  // namespace cuvmm::shim
