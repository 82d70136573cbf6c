// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/preflight/metrics.h"

#include <fmt/core.h>

#include <string_view>

namespace cuvmm::doctor {

namespace {

// All are gauges, because node_exporter's parser knows neither "stateset" nor "info".
std::string head(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

constexpr Status kStatuses[] = {Status::kWorks, Status::kDoesNot, Status::kUnknown};
constexpr Action kActions[] = {Action::kDrain, Action::kReset, Action::kRestartDaemon,
                               Action::kChangeContainer};

}  // namespace

std::string metrics_text(const Preflight& preflight, const Occasion& occasion) {
  std::string text = head("cuvmm_preflight_check", "1 for the status that the check has.");
  for (const Judged& one : preflight.checks) {
    for (const Status status : kStatuses) {
      text += fmt::format("cuvmm_preflight_check{{check=\"{}\",status=\"{}\"}} {}\n", one.check->id,
                          status == Status::kDoesNot ? "does_not_work" : status_text(status),
                          one.check->status == status ? 1 : 0);
    }
  }
  text += head("cuvmm_preflight_check_severity",
               "How bad the check's verdict is: 0 not at all, 1 warning, 2 critical.");
  for (const Judged& one : preflight.checks) {
    text += fmt::format("cuvmm_preflight_check_severity{{check=\"{}\"}} {}\n", one.check->id,
                        static_cast<int>(one.severity));
  }
  text += head("cuvmm_preflight_severity", "The worst severity of all checks.");
  text += fmt::format("cuvmm_preflight_severity {}\n", static_cast<int>(preflight.severity));
  text += head("cuvmm_preflight_action", "1 for the action that the worst trouble asks for.");
  for (const Action action : kActions) {
    text += fmt::format("cuvmm_preflight_action{{action=\"{}\"}} {}\n", action_text(action),
                        preflight.action == action ? 1 : 0);
  }
  text += head("cuvmm_preflight_duration_seconds", "The time that the checks took.");
  text += fmt::format("cuvmm_preflight_duration_seconds {:.3f}\n", preflight.seconds);
  text += head("cuvmm_preflight_timestamp_seconds", "When the checks ended, in Unix time.");
  text += fmt::format("cuvmm_preflight_timestamp_seconds {:.3f}\n", occasion.time_s);
  return text + "# EOF\n";
}

}  // namespace cuvmm::doctor
