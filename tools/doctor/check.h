// SPDX-License-Identifier: Apache-2.0
// The doctor's verdict about one thing: it works, it does not work, or the doctor cannot tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::doctor {

enum class Status { kWorks, kDoesNot, kUnknown };

/// How bad it is for a node that something does not work.
enum class Severity { kNone, kWarning, kCritical };

/// The step that would mend it: take the node out of service, reset the GPU, restart a daemon of
/// the host, start the container in another way (limits, devices, libraries).
enum class Action { kNone, kDrain, kReset, kRestartDaemon, kChangeContainer };

/// "works", "does not", "unknown".
std::string_view status_text(Status status);

struct Check {
  std::string id;  ///< an id of check_table()
  Status status = Status::kUnknown;
  std::string detail;  ///< the observation; if the thing does not work, the reason
  std::string fix;     ///< how to make it work; "" if it works
  std::string source;  ///< the document that requires it, or the users who met the trouble
  std::optional<Action> action{};  ///< where it differs from that of check_table()
  bool absent = false;             ///< the machine does not have it, and nothing is broken
};

Check works(std::string id, std::string detail, std::string source);
Check does_not(std::string id, std::string detail, std::string fix, std::string source);
Check unknown(std::string id, std::string detail, std::string fix, std::string source);
/// does_not() of a thing that this machine is without, though nothing is broken.
Check absent(std::string id, std::string detail, std::string fix, std::string source);
Check with_action(Check check, Action action);

/// One row of docs/doctor.md. The order of the table is the order of the output.
struct CheckInfo {
  const char* id;
  const char* section;
  const char* what;                     ///< the thing that works if the verdict is kWorks
  Severity severity = Severity::kNone;  ///< if it does not work, and nobody said that it is needed
  Action action = Action::kNone;        ///< if it does not work, and no better one is known
};
std::span<const CheckInfo> check_table();

/// The check with that id; null if there is none.
const Check* find(std::span<const Check> checks, std::string_view id);

/// Sorts by the order of check_table().
void put_in_order(std::vector<Check>& checks);

/// The checks of `needed` that do not work, or that the doctor cannot tell.
std::vector<const Check*> unmet(std::span<const Check> checks, std::span<const std::string> needed);

}  // namespace cuvmm::doctor
