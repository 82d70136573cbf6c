// SPDX-License-Identifier: Apache-2.0
// When a call was made, and which life an object of a finding had.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

class Moments {
 public:
  explicit Moments(const ProcessTimeline& timeline);

  /// When call `number` was made: as exactly as the events around it tell. At the end for 0, which
  /// stands for what is found there.
  std::int64_t of_call(std::uint64_t number) const;

  /// The life that an object of a finding ("what", "value", "made_by_call") had; null: unknown.
  const Life* life_of(const Json& object) const;

  /// The memory that a mapping, an export or a use has; of memory, itself; null: unknown.
  const Life* memory_of(const Life& life) const;

  /// The device of the memory behind a mapping; -1 unknown.
  std::int32_t device_of(const Life& mapping) const;

 private:
  const ProcessTimeline& timeline_;
  std::map<std::uint64_t, std::int64_t> calls_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, const Life*> lives_;  // by call, value
  std::multimap<std::uint64_t, const Life*> memory_;                      // by handle
};

}  // namespace cuvmm::tools
