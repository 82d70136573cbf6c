// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/preflight/metrics.h"

#include <fmt/core.h>

#include <string_view>

#include "tools/base/openmetrics.h"

namespace cuvmm::doctor {

namespace {

constexpr Status kStatuses[] = {Status::kWorks, Status::kDoesNot, Status::kUnknown};
constexpr Action kActions[] = {Action::kDrain, Action::kReset, Action::kRestartDaemon,
                               Action::kChangeContainer};

std::uint64_t number(Severity severity) { return static_cast<std::uint64_t>(severity); }

}  // namespace

std::string metrics_text(const Preflight& preflight, const Occasion& occasion) {
  tools::Metrics out;
  out.gauge("cuvmm_preflight_check", "1 for the status that the check has.");
  for (const Judged& one : preflight.checks) {
    for (const Status status : kStatuses) {
      const std::string_view name =
          status == Status::kDoesNot ? "does_not_work" : status_text(status);
      out.sample({{"check", one.check->id}, {"status", name}},
                 std::uint64_t{one.check->status == status});
    }
  }
  out.gauge("cuvmm_preflight_check_severity",
            "How bad the check's verdict is: 0 not at all, 1 warning, 2 critical.");
  for (const Judged& one : preflight.checks) {
    out.sample({{"check", one.check->id}}, number(one.severity));
  }
  out.gauge("cuvmm_preflight_severity", "The worst severity of all checks.");
  out.sample({}, number(preflight.severity));
  out.gauge("cuvmm_preflight_action", "1 for the action that the worst trouble asks for.");
  for (const Action action : kActions) {
    out.sample({{"action", action_text(action)}}, std::uint64_t{preflight.action == action});
  }
  out.gauge("cuvmm_preflight_duration_seconds", "The time that the checks took.");
  out.sample({}, fmt::format("{:.3f}", preflight.seconds));
  out.gauge("cuvmm_preflight_timestamp_seconds", "When the checks ended, in Unix time.");
  out.sample({}, fmt::format("{:.3f}", occasion.time_s));
  return out.text();
}

}  // namespace cuvmm::doctor
