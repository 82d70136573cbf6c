// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/object_findings.h"

#include <algorithm>

#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostOfFinding = 64;  // one call may end all objects of a context

}  // namespace

bool is_of(const Json& finding, const ProcessTimeline& timeline) {
  return number_in(finding, "pid") == static_cast<std::uint64_t>(timeline.pid);
}

ObjectFindings::ObjectFindings(const ProcessTimeline& timeline, const Json& findings) {
  const Moments moments(timeline);
  std::unordered_map<std::uint64_t, std::vector<const Json*>> by_call;
  for (const Json& finding : findings) {
    if (!is_of(finding, timeline)) continue;
    for (const Json& object : list_in(finding, "objects")) {
      if (const Life* const life = moments.life_of(object)) tell(finding, *life, &object);
    }
    if (const auto call = number_in(finding, "call_index"); call != 0)
      by_call[call].push_back(&finding);
  }
  if (by_call.empty()) return;
  // The finding of an unmap that comes too early names the work that it disturbs, but not the
  // mapping.
  for (const Life& life : timeline.lives) {
    for (const std::uint64_t call : {life.begin_call, life.end_call}) {
      const auto found = by_call.find(call);
      if (call == 0 || found == by_call.end()) continue;
      for (const Json* const finding : found->second) {
        if (lives_of(*finding).size() < kMostOfFinding) tell(*finding, life, nullptr);
      }
    }
  }
}

void ObjectFindings::tell(const Json& finding, const Life& life, const Json* object) {
  FindingsOfObject& findings_of = of_objects_[&life];
  if (findings_of.number == 0) findings_of.number = of_objects_.size();
  if (findings_of.object == nullptr) findings_of.object = object;
  // A finding may name an object twice, or name the object that its call ended.
  if (std::find(findings_of.findings.rbegin(), findings_of.findings.rend(), &finding) !=
      findings_of.findings.rend())
    return;
  findings_of.findings.push_back(&finding);
  lives_[&finding].push_back(&life);
}

const FindingsOfObject* ObjectFindings::of(const Life& life) const {
  const auto found = of_objects_.find(&life);
  return found == of_objects_.end() ? nullptr : &found->second;
}

const std::vector<const Life*>& ObjectFindings::lives_of(const Json& finding) const {
  static const std::vector<const Life*> kNone;
  const auto found = lives_.find(&finding);
  return found == lives_.end() ? kNone : found->second;
}

}  // namespace cuvmm::tools
