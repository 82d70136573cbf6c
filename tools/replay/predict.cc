// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/predict.h"

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "api/symbols/find_entry.h"
#include "api/symbols/symbols.h"
#include "program/run_program.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/installation/layout.h"
#include "tools/replay/program_file.h"
#include "tools/rules/rule_facts.h"
#include "tools/run/loader_path.h"

namespace cuvmm::tools {

using program::call_text;
using program::Outcome;
using program::outcome_text;
using program::Program;
using program::run_program;
using program::Statement;

namespace {

// The number of "device3".
std::optional<int> device_number(std::string_view word) {
  constexpr std::string_view kDevice = "device";
  if (!word.starts_with(kDevice)) return std::nullopt;
  word.remove_prefix(kDevice.size());
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

int highest_device(const std::vector<program::Argument>& arguments) {
  using Kind = program::Value::Kind;
  int highest = -1;
  for (const program::Argument& argument : arguments) {
    const program::Value& value = argument.value;
    if (value.kind == Kind::kName) {
      highest = std::max(highest, device_number(value.text).value_or(-1));
    } else if (value.kind == Kind::kNumber && argument.key == "device" && value.number < 64) {
      highest = std::max(highest, static_cast<int>(value.number));
    }
    highest = std::max(highest, highest_device(value.parts));
  }
  return highest;
}

// The first CUDA version that has the function; 0: unknown.
int version_of(EntryPoint entry) {
  int first = 0;
  for (const SymbolInfo& info : symbols()) {
    if (info.entry == entry && (first == 0 || info.version < first)) first = info.version;
  }
  return first;
}

bool failed(const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::Status::kDone:
      return outcome.result != CUDA_SUCCESS;
    case Outcome::Status::kNotRun:  // it needs an object that a failed call should have made
      return false;
    case Outcome::Status::kExited:
    case Outcome::Status::kSignal:
    case Outcome::Status::kTimeout:
      return true;
  }
  return true;
}

std::string about(const Profile& profile) {
  return profile.about.empty() ? profile.gpu + ", driver " + profile.driver : profile.about;
}

void print_text(const Program& program, const std::vector<Prediction>& predictions,
                const std::string& file) {
  std::size_t width = 0;
  for (const Prediction& one : predictions) width = std::max(width, one.profile.size());
  for (const Prediction& one : predictions) {
    print_output("{:<{}}  {}\n", one.profile, width, one.about);
    const std::string indent(width + 2, ' ');
    if (!one.statement) {
      print_output("{}works: every call that succeeded would succeed\n", indent);
      continue;
    }
    const Statement& statement = program.statements[*one.statement];
    print_output("{}fails at {}:{}: {}\n", indent, file, statement.line, call_text(statement));
    print_output("{}{}\n", indent, one.observed);
    if (!one.reason.empty()) print_output("{}{}\n", indent, one.reason);
  }
}

nlohmann::ordered_json as_json(const Program& program, const std::vector<Prediction>& predictions) {
  auto list = nlohmann::ordered_json::array();
  for (const Prediction& one : predictions) {
    nlohmann::ordered_json entry;
    entry["profile"] = one.profile;
    entry["about"] = one.about;
    entry["works"] = !one.statement;
    if (one.statement) {
      const Statement& statement = program.statements[*one.statement];
      entry["line"] = statement.line;
      entry["statement"] = call_text(statement);
      entry["observed"] = one.observed;
      entry["reason"] = one.reason;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

int devices_of(const Program& program) {
  int highest = 0;
  for (const Statement& statement : program.statements) {
    highest = std::max(highest, highest_device(statement.arguments));
  }
  return highest + 1;
}

Prediction judge(const Program& program, const std::vector<Outcome>& outcomes,
                 const Profile& profile) {
  Prediction out{profile.name, about(profile), {}, "", ""};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Statement& statement = program.statements[i];
    // Failed in the recording, too.
    if (statement.expected.value_or(CUDA_SUCCESS) != CUDA_SUCCESS) continue;
    const auto entry = find_entry(statement.function);
    if (!entry) continue;
    if (const int since = version_of(*entry); since > profile.cuda_version) {
      out.statement = i;
      out.observed = "this driver is of CUDA " + version_text(profile.cuda_version) +
                     "; the function exists since " + version_text(since);
      return out;
    }
    if (!failed(outcomes[i])) continue;
    out.statement = i;
    out.observed = outcome_text(outcomes[i]);
    out.reason = profile.reason(*entry, outcomes[i].result);
    return out;
  }
  return out;
}

int predict(const PredictOptions& options) {
  const ProgramFile file = read_program(options.file);
  if (!file.error.empty()) {
    print_error("{}\n", file.error);  // no prefix, because editors jump to FILE:LINE:COLUMN
    return kExitUsage;
  }
  const auto failed = [](const std::string& message) {
    print_error("cuvmm predict: {}\n", message);
    return kExitFailure;
  };
  const LayoutResult layout = find_layout(own_folder());
  if (!layout.error.empty()) return failed(layout.error);
  const LoaderPath libraries(layout.layout);
  if (!libraries.error().empty()) return failed(libraries.error());
  const LoadedDriver emulator = load_driver(libraries.layout().emulator, false);
  if (!emulator.error.empty()) return failed(emulator.error);

  program::RunOptions run;
  run.timeout = std::chrono::milliseconds(static_cast<long>(options.timeout_s * 1000));
  const int devices = options.devices > 0 ? options.devices : devices_of(file.program);
  setenv("CUVMM_DEVICES", std::to_string(devices).c_str(), 1);
  std::vector<Prediction> predictions;
  for (const std::string& name : options.profiles) {
    const ProfileResult loaded = load_profile(name);
    if (!loaded.error.empty()) return failed(loaded.error);
    // The emulator reads the variable at cuInit, in the processes of the program.
    setenv("CUVMM_PROFILE", name.c_str(), 1);
    fflush(nullptr);
    predictions.push_back(
        judge(file.program, run_program(emulator.driver, file.program, run), loaded.profile));
  }
  if (options.json) {
    nlohmann::ordered_json all;
    all["predictions"] = as_json(file.program, predictions);
    print_output("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print_text(file.program, predictions, options.file == "-" ? "standard input" : options.file);
  }
  const bool works = std::all_of(predictions.begin(), predictions.end(),
                                 [](const Prediction& one) { return !one.statement; });
  return works ? 0 : kExitDifference;
}

}  // namespace cuvmm::tools
