// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/site.h"

#include <array>
#include <atomic>

#include "frames/interleave.h"
#include "shim/base/thread_state.h"
#include "shim/modules/module_map.h"

namespace cuvmm::shim {

namespace {

// Call sites that were looked up: the address, and in the lowest bit of the word whether its
// library only forwards calls. A site that evicts another makes that one be looked up again.
constexpr std::size_t kKnownSites = 256;
constinit std::array<std::atomic<std::uint64_t>, kKnownSites> g_known{};

bool hands_on(std::uintptr_t site) {
  std::atomic<std::uint64_t>& known = g_known[site / 4 % kKnownSites];
  const std::uint64_t word = known.load(std::memory_order_relaxed);
  if (word >> 1 == site) return (word & 1) != 0;
  if (t_state.care == Care::kAsInterrupted) return false;
  const bool hands = frames::hands_on_from_python(ModuleMap::of_this_process().find(site - 1).path);
  known.store(static_cast<std::uint64_t>(site) << 1 | (hands ? 1 : 0), std::memory_order_relaxed);
  return hands;
}

}  // namespace

std::uintptr_t folding_site(StackId id) {
  const std::uintptr_t site = call_site(id);
  const auto python = stack_python(id);
  if (python.empty() || !hands_on(site)) return site;
  return site ^ (python.front() << 32 | 1);
}

}  // namespace cuvmm::shim
