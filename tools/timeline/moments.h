// SPDX-License-Identifier: Apache-2.0
// Finds when a call was made, and the life of an object that a finding names.
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

  /// The time of call `number`, as exactly as the events around the call tell. The end of the
  /// timeline for 0, which stands for findings at the exit.
  std::int64_t of_call(std::uint64_t number) const;

  /// The life of a finding's object ("what", "value", "made_by_call"); null: unknown.
  const Life* life_of(const Json& object) const;

  /// The memory of a mapping, an export or a use; for memory, the life itself; null: unknown.
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
