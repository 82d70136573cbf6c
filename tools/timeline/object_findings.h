// SPDX-License-Identifier: Apache-2.0
// Connects the findings of a run with the objects in a process's timeline.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/timeline/moments.h"
#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

/// The facts about one object that a finding names, or that the call of a finding made or ended.
struct FindingsOfObject {
  std::uint64_t number = 0;           ///< from 1, within its process
  const Json* object = nullptr;       ///< the object in the first finding that names it; null: none
  std::vector<const Json*> findings;  ///< in the report's order
};

class ObjectFindings {
 public:
  /// Takes those `findings` of a report that are about the process of `timeline`. Both must outlive
  /// this object.
  ObjectFindings(const ProcessTimeline& timeline, const Json& findings);

  /// Null where no finding is about the object.
  const FindingsOfObject* of(const Life& life) const;
  /// The objects of a finding, without repetition.
  const std::vector<const Life*>& lives_of(const Json& finding) const;

 private:
  void tell(const Json& finding, const Life& life, const Json* object);

  std::unordered_map<const Life*, FindingsOfObject> of_objects_;
  std::unordered_map<const Json*, std::vector<const Life*>> lives_;
};

/// Whether a finding is about this process.
bool is_of(const Json& finding, const ProcessTimeline& timeline);

}  // namespace cuvmm::tools
