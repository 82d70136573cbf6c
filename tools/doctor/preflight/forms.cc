// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/preflight/forms.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "tools/doctor/doctor_output.h"
#include "tools/doctor/preflight/metrics.h"

namespace cuvmm::doctor {

namespace {

using Json = nlohmann::ordered_json;

// A driver's text may be no valid UTF-8, at which dump() would throw.
std::string dumped(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// OK, WARNING, CRITICAL; UNKNOWN: a needed check could not be made. As Nagios has them.
int nagios_code(const Preflight& preflight) {
  if (preflight.unsure) return 3;
  return static_cast<int>(preflight.severity);
}

// Warnings let work start.
int slurm_code(const Preflight& preflight) {
  return preflight.severity == Severity::kCritical ? 2 : 0;
}

// 0: no problem, 1: a problem, 2: unknown.
int npd_code(const Preflight& preflight) {
  if (preflight.severity == Severity::kCritical) return 1;
  return preflight.unsure ? 2 : 0;
}

// 0: passed, 1: a GPU failed, 2: the surroundings, so that nothing could be tried.
int nvsentinel_code(const Preflight& preflight) {
  if (preflight.severity != Severity::kCritical) return 0;
  const bool of_surroundings =
      preflight.action == Action::kChangeContainer || preflight.action == Action::kRestartDaemon;
  return of_surroundings ? 2 : 1;
}

int always_0(const Preflight&) { return 0; }

// One line without characters that end a line or begin the performance data of Nagios.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '|') c = ' ';
  }
  return text;
}

std::string ids(const std::vector<const Judged*>& roots) {
  std::string text;
  for (const Judged* one : roots) text += (text.empty() ? "" : ", ") + one->check->id;
  return text;
}

// "vmm: cuMemMap answered ..."; of several troubles the first, with the names of all.
std::string headline(const Preflight& preflight) {
  const auto roots = preflight.roots();
  if (roots.empty()) return "all that is needed works";
  const Check& first = *roots.front()->check;
  const std::string all = roots.size() > 1 ? fmt::format("{} ({}: ", ids(roots), first.id) : "";
  return all.empty() ? fmt::format("{}: {}", first.id, first.detail) : all + first.detail + ")";
}

// Cut to `most` bytes, between characters.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// The node problem detector cuts the text of a plugin at 80 bytes, so the action comes first.
std::string npd_text(const Preflight& preflight, const Occasion&) {
  std::string text(action_text(preflight.action));
  if (preflight.severity == Severity::kNone) {
    text = headline(preflight);
  } else {
    text += "; " + headline(preflight);
  }
  return cut(one_line(text), 79) + "\n";
}

std::string nagios_text(const Preflight& preflight, const Occasion&) {
  constexpr const char* kStates[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::string text = one_line(headline(preflight));
  if (preflight.action != Action::kNone) {
    text += fmt::format("; action: {}", action_text(preflight.action));
  }
  return fmt::format("CUVMM {} - {} | time={:.3f}s\n", kStates[nagios_code(preflight)], text,
                     preflight.seconds);
}

std::string slurm_text(const Preflight& preflight, const Occasion&) {
  if (preflight.severity == Severity::kNone) return "";
  return fmt::format("cuvmm preflight: {}: {}; action: {}\n", severity_text(preflight.severity),
                     one_line(headline(preflight)), action_text(preflight.action));
}

Json event(const Occasion& occasion, const std::string& name, bool healthy, bool fatal,
           const std::string& message, Action action) {
  // Of the actions that NVSentinel knows, a reset is one. What is the host's or the container's
  // matter is left to a person.
  constexpr const char* kActions[] = {"NONE", "CONTACT_SUPPORT", "COMPONENT_RESET", "UNKNOWN",
                                      "NONE"};
  // A container that was started in the wrong way says nothing about the node.
  const bool of_node = healthy || action != Action::kChangeContainer;
  const auto second = static_cast<std::time_t>(std::floor(occasion.time_s));
  return {
      {"version", 1},
      {"agent", "cuvmm-doctor"},
      {"componentClass", "GPU"},
      {"checkName", "cuvmm-" + name},
      {"isFatal", fatal},
      {"isHealthy", healthy},
      {"message", one_line(message)},
      {"recommendedAction", kActions[static_cast<int>(action)]},
      {"errorCode", Json::array()},
      {"entitiesImpacted", Json::array({{{"entityType", "NODE"}, {"entityValue", occasion.node}}})},
      {"metadata", {{"cuvmm_action", action_text(action)}}},
      {"generatedTimestamp", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(second))},
      {"nodeName", occasion.node},
      {"processingStrategy", of_node ? "EXECUTE_REMEDIATION" : "STORE_ONLY"}};
}

// The JSON form of NVSentinel's message HealthEvents (health_event.proto of its data models).
std::string nvsentinel_text(const Preflight& preflight, const Occasion& occasion) {
  Json events = Json::array();
  for (const Judged* one : preflight.roots()) {
    if (one->check->status == Status::kUnknown) continue;
    events.push_back(event(occasion, one->check->id, false, one->severity == Severity::kCritical,
                           one->check->detail, one->action));
  }
  // A healthy event ends the condition that an earlier one of its name began.
  for (const Judged& one : preflight.checks) {
    if (one.check->status != Status::kWorks) continue;
    events.push_back(event(occasion, one.check->id, true, false, one.check->detail, Action::kNone));
  }
  return dumped({{"version", 1}, {"events", events}});
}

std::string json_text(const Preflight& preflight, const Occasion& occasion) {
  Json list = Json::array();
  for (const Judged& one : preflight.checks) {
    list.push_back({{"id", one.check->id},
                    {"status", status_text(one.check->status)},
                    {"needed", one.needed},
                    {"severity", severity_text(one.severity)},
                    {"action", action_text(one.action)},
                    {"because_of", one.cause ? one.cause->id : ""},
                    {"detail", one.check->detail},
                    {"fix", one.check->fix},
                    {"source", one.check->source}});
  }
  return dumped({{"severity", severity_text(preflight.severity)},
                 {"action", action_text(preflight.action)},
                 {"unsure", preflight.unsure},
                 {"node", occasion.node},
                 {"seconds", preflight.seconds},
                 {"checks", list}});
}

std::string plain_text(const Preflight& preflight, const Occasion&) {
  std::string text;
  for (const Judged* one : preflight.roots()) {
    text += check_text(*one->check, severity_text(one->severity));
    if (const auto step = action_sentence(one->action); !step.empty()) {
      text += fmt::format("            action: {}\n", step);
    }
    std::string others;
    for (const Judged& other : preflight.checks) {
      if (other.cause != one->check || other.severity == Severity::kNone) continue;
      others += (others.empty() ? "" : ", ") + other.check->id;
    }
    if (!others.empty()) text += fmt::format("            so these do not work: {}\n", others);
  }
  std::string needed;
  for (const Judged& one : preflight.checks) {
    if (one.needed) needed += (needed.empty() ? "" : ", ") + one.check->id;
  }
  text += preflight.severity == Severity::kNone
              ? fmt::format("preflight: all that is needed works ({})", needed)
              : fmt::format("preflight: {}", severity_text(preflight.severity));
  if (preflight.unsure) text += "; a needed check could not be made";
  return text + fmt::format(", {:.1f} s\n", preflight.seconds);
}

constexpr Form kForms[] = {
    {"text", "for a person; exits with 0, 1 (warning), 2 (critical), 3 (a needed check is unknown)",
     plain_text, nagios_code},
    {"json", "all checks, each with its severity and action; exits as text", json_text,
     nagios_code},
    {"nagios", "one line of a Nagios plugin; exits as text", nagios_text, nagios_code},
    {"slurm", "for a prolog: a line only of a trouble; exits with 2 if it is critical, else with 0",
     slurm_text, slurm_code},
    {"npd", "for the node problem detector: 80 bytes; exits with 0, 1 (problem), 2 (unknown)",
     npd_text, npd_code},
    {"nvsentinel",
     "its health events as JSON; exits with 0, 1 (a GPU failed), 2 (container or host daemon)",
     nvsentinel_text, nvsentinel_code},
    {"openmetrics", "for node_exporter's textfile collector; exits with 0", metrics_text, always_0},
};

}  // namespace

std::span<const Form> forms() { return kForms; }

const Form* find_form(std::string_view name) {
  const auto found = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const Form& form) { return form.name == name; });
  return found == std::end(kForms) ? nullptr : &*found;
}

}  // namespace cuvmm::doctor
