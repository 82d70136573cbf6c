// SPDX-License-Identifier: Apache-2.0
// A distinct refusal of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "shim/refusals/refusal.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// As a report shows it. Never destroyed, because any thread may look at it.
struct RefusalEntry {
  Refusal refusal;
  std::vector<Frame> stack;
  std::vector<std::vector<Frame>> creators;  ///< one per refusal.memory->held.creators
  std::vector<std::vector<Frame>> asides;    ///< one for each of refusal.asides
  std::string json;  ///< its members without the counts, ready for a signal handler to write
  std::atomic<std::uint64_t> count{1};
  /// No fact shows that the refusal matters: only the report has it.
  std::atomic<bool> quiet{false};
  std::atomic<std::uint64_t> handled{0};  ///< how many of them a later call settled
  std::atomic<RefusalEntry*> next{nullptr};
  std::atomic<bool> ready{false};
};

}  // namespace cuvmm::shim
