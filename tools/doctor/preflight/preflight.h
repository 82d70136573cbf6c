// SPDX-License-Identifier: Apache-2.0
// The doctor's verdicts as a node's health: how bad each is for the work that is to start here, and
// the step that would mend it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/check.h"

namespace cuvmm::doctor {

/// The checks that a node needs where nobody names any: a driver that shares memory.
std::span<const std::string> usual_needs();

struct Judged {
  const Check* check = nullptr;
  const Check* cause = nullptr;  ///< the check that makes this one fail; null: none
  bool needed = false;
  Severity severity = Severity::kNone;
  Action action = Action::kNone;
};

struct Preflight {
  std::vector<Judged> checks;  ///< in the order of check_table()
  Severity severity = Severity::kNone;
  Action action = Action::kNone;  ///< of the worst check that no other check explains
  bool unsure = false;            ///< a needed check could not be made, and none is critical
  double seconds = 0;             ///< that the checks took

  /// The troubles that no other check explains, the worst first.
  std::vector<const Judged*> roots() const;
};

/// `checks` must outlive the result.
Preflight judge_preflight(std::span<const Check> checks, std::span<const std::string> needed);

/// The node that an event is about, and when the checks ended.
struct Occasion {
  std::string node;   ///< NODE_NAME of the environment, else the host's name
  double time_s = 0;  ///< seconds since 1970
};

/// "none", "warning", "critical".
std::string_view severity_text(Severity severity);
/// "none", "drain", "reset", "restart-daemon", "change-container".
std::string_view action_text(Action action);
/// "drain the node": the action as a step for a person; "" for none.
std::string_view action_sentence(Action action);

}  // namespace cuvmm::doctor
