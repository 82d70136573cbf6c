// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/told.h"

#include <algorithm>

#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostOfFinding = 64;  // one call may end all objects of a context

}  // namespace

bool is_of(const Json& finding, const ProcessTimeline& timeline) {
  return number_in(finding, "pid") == static_cast<std::uint64_t>(timeline.pid);
}

Told::Told(const ProcessTimeline& timeline, const Json& findings) {
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

void Told::tell(const Json& finding, const Life& life, const Json* object) {
  ToldOfLife& told = told_[&life];
  if (told.number == 0) told.number = told_.size();
  if (told.object == nullptr) told.object = object;
  // A finding may name an object twice, or name the object that its call ended.
  if (std::find(told.findings.rbegin(), told.findings.rend(), &finding) != told.findings.rend())
    return;
  told.findings.push_back(&finding);
  lives_[&finding].push_back(&life);
}

const ToldOfLife* Told::of(const Life& life) const {
  const auto found = told_.find(&life);
  return found == told_.end() ? nullptr : &found->second;
}

const std::vector<const Life*>& Told::lives_of(const Json& finding) const {
  static const std::vector<const Life*> kNone;
  const auto found = lives_.find(&finding);
  return found == lives_.end() ? kNone : found->second;
}

}  // namespace cuvmm::tools
