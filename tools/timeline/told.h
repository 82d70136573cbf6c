// SPDX-License-Identifier: Apache-2.0
// What the findings of a run say of the objects in a process's timeline.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/timeline/moments.h"
#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

/// What is known of one object: a finding names it, or is about the call that made or ended it.
struct ToldOfLife {
  std::uint64_t number = 0;           ///< from 1, for its process
  const Json* object = nullptr;       ///< as the first finding that names it has it; null: none
  std::vector<const Json*> findings;  ///< in the report's order
};

class Told {
 public:
  /// Of `findings`, which are a report's, those of `timeline`'s process. Both outlive this.
  Told(const ProcessTimeline& timeline, const Json& findings);

  /// Null: nothing.
  const ToldOfLife* of(const Life& life) const;
  /// The objects of a finding, each once.
  const std::vector<const Life*>& lives_of(const Json& finding) const;

 private:
  void tell(const Json& finding, const Life& life, const Json* object);

  std::unordered_map<const Life*, ToldOfLife> told_;
  std::unordered_map<const Json*, std::vector<const Life*>> lives_;
};

/// Whether a finding is of this process.
bool is_of(const Json& finding, const ProcessTimeline& timeline);

}  // namespace cuvmm::tools
