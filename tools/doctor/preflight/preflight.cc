// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/preflight/preflight.h"

#include <algorithm>
#include <iterator>

namespace cuvmm::doctor {

namespace {

const CheckInfo* info_of(const Check& check) {
  const auto table = check_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const CheckInfo& info) { return check.id == info.id; });
  return found == table.end() ? nullptr : &*found;
}

// The check of "(see ID)" at the end of the detail, or of a fix that is "see ID".
const Check* named_cause(const Check& check, std::span<const Check> all) {
  std::string id;
  constexpr std::string_view kSee = "(see ";
  const auto at = check.detail.rfind(kSee);
  if (at != std::string::npos) {
    const auto start = at + kSee.size();
    id = check.detail.substr(start, check.detail.find(')', start) - start);
  } else if (check.fix.starts_with("see ")) {
    id = check.fix.substr(4);
  }
  const Check* const found = find(all, id);
  return found && found != &check && found->status == Status::kDoesNot ? found : nullptr;
}

// The first cause of the causes.
const Check* root_cause(const Check& check, std::span<const Check> all) {
  const Check* at = named_cause(check, all);
  for (std::size_t steps = 0; at && steps < all.size(); ++steps) {
    const Check* const next = named_cause(*at, all);
    if (!next || next == &check) break;
    at = next;
  }
  return at;
}

Judged judge(const Check& check, std::span<const Check> all, std::span<const std::string> needed) {
  Judged judged;
  judged.check = &check;
  judged.needed = std::find(needed.begin(), needed.end(), check.id) != needed.end();
  const CheckInfo* const info = info_of(check);
  if (check.status == Status::kWorks || !info) return judged;
  if (check.status == Status::kUnknown) {
    if (judged.needed) judged.severity = Severity::kWarning;
    return judged;
  }
  judged.cause = root_cause(check, all);
  judged.action = check.action.value_or(info->action);
  if (judged.needed) {
    judged.severity = Severity::kCritical;
  } else if (!check.absent && info->severity != Severity::kNone) {
    // The table's critical checks are needed only where nobody names other needs.
    judged.severity = Severity::kWarning;
  }
  return judged;
}

}  // namespace

std::span<const std::string> usual_needs() {
  static const std::string kUsual[] = {"driver", "devices", "vmm", "fd"};
  return kUsual;
}

std::vector<const Judged*> Preflight::roots() const {
  std::vector<const Judged*> found;
  for (const Judged& one : checks) {
    if (one.severity != Severity::kNone && !one.cause) found.push_back(&one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Judged* a, const Judged* b) { return a->severity > b->severity; });
  return found;
}

Preflight judge_preflight(std::span<const Check> checks, std::span<const std::string> needed) {
  Preflight result;
  for (const Check& check : checks) result.checks.push_back(judge(check, checks, needed));
  // A cause is as bad as the worst that it brings.
  for (const Judged& one : result.checks) {
    if (!one.cause) continue;
    for (Judged& cause : result.checks) {
      if (cause.check == one.cause) cause.severity = std::max(cause.severity, one.severity);
    }
  }
  for (const Judged& one : result.checks) result.severity = std::max(result.severity, one.severity);
  result.unsure = result.severity != Severity::kCritical &&
                  std::any_of(result.checks.begin(), result.checks.end(), [](const Judged& one) {
                    return one.needed && one.check->status == Status::kUnknown;
                  });
  const auto roots = result.roots();
  if (!roots.empty()) result.action = roots.front()->action;
  return result;
}

std::string_view severity_text(Severity severity) {
  constexpr std::string_view kTexts[] = {"none", "warning", "critical"};
  return kTexts[static_cast<int>(severity)];
}

std::string_view action_text(Action action) {
  constexpr std::string_view kTexts[] = {"none", "drain", "reset", "restart-daemon",
                                         "change-container"};
  return kTexts[static_cast<int>(action)];
}

std::string_view action_sentence(Action action) {
  constexpr std::string_view kTexts[] = {"", "drain the node", "drain the node and reset the GPU",
                                         "restart the daemon on the host",
                                         "start the container in another way"};
  return kTexts[static_cast<int>(action)];
}

}  // namespace cuvmm::doctor
