// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/replay.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/driver/driver.h"
#include "program/run_program.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/installation/driver_choice.h"
#include "tools/installation/layout.h"
#include "tools/replay/program_file.h"
#include "tools/run/loader_path.h"

namespace cuvmm::tools {

using program::as_expected;
using program::call_text;
using program::Outcome;
using program::outcome_text;
using program::Program;
using program::run_program;
using program::RunOptions;
using program::Statement;

namespace {

int failed(int code, const std::string& message) {
  print_error("cuvmm replay: {}\n", message);
  return code;
}

// The path of the driver that the options choose. Sets `error` if there is none. `libraries` holds
// the links to the emulator, and must live until the program has run.
std::string driver_path(const ReplayOptions& options, std::unique_ptr<LoaderPath>& libraries,
                        std::string& error) {
  if (!options.driver.empty()) return options.driver;
  if (!options.emulate) {
    if (!find_driver().empty()) return "libcuda.so.1";  // the shim, if it is preloaded
    if (const char* chosen = getenv("CUVMM_DRIVER"); chosen && *chosen) return chosen;
  }
  const LayoutResult layout = find_layout(own_folder());
  error = layout.error;
  if (error.empty() && !options.emulate) {
    print_error(
        "cuvmm: there is no CUDA driver here (libcuda.so.1 was not found): using the emulator\n");
  }
  if (!error.empty()) return "";
  libraries = std::make_unique<LoaderPath>(layout.layout);
  error = libraries->error();
  return libraries->layout().emulator;
}

std::string expected_text(const Statement& statement) {
  if (!statement.expected) return "";
  std::string text = result_name(*statement.expected);
  if (!statement.expected_value.empty()) text += " =" + statement.expected_value;
  return text;
}

void print_table(const Program& program, const std::vector<Outcome>& outcomes) {
  std::size_t width = 0;
  for (const Statement& statement : program.statements) {
    width = std::max(width, std::min<std::size_t>(60, call_text(statement).size()));
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Statement& statement = program.statements[i];
    const bool good = went_well(statement, outcomes[i]);
    const char* verdict = !good ? "DIFFERENT" : statement.expected ? "ok" : "-";
    std::string text = outcome_text(outcomes[i]);
    if (!good && statement.expected) text += ", expected " + expected_text(statement);
    for (const std::string& rule : statement.breaks) text += " !" + rule;
    print_output("{:<9} {:>4}  {:<{}}  {}\n", verdict, statement.line, call_text(statement), width,
                 text);
  }
}

nlohmann::ordered_json as_json(const Program& program, const std::vector<Outcome>& outcomes) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Statement& statement = program.statements[i];
    nlohmann::ordered_json one;
    one["line"] = statement.line;
    one["statement"] = call_text(statement);
    one["expected"] =
        statement.expected ? nlohmann::ordered_json(expected_text(statement)) : nullptr;
    one["observed"] = outcome_text(outcomes[i]);
    one["ok"] = went_well(statement, outcomes[i]);
    one["breaks"] = statement.breaks;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

bool went_well(const Statement& statement, const Outcome& outcome) {
  if (statement.expected) return as_expected(statement, outcome);
  return outcome.status == Outcome::Status::kDone ||
         (outcome.status == Outcome::Status::kExited && statement.function == "exit");
}

int replay(const ReplayOptions& options) {
  const ProgramFile file = read_program(options.file);
  if (!file.error.empty()) {
    print_error("{}\n", file.error);  // no prefix, because editors jump to FILE:LINE:COLUMN
    return kExitUsage;
  }
  std::string error;
  std::unique_ptr<LoaderPath> libraries;
  const std::string path = driver_path(options, libraries, error);
  if (!error.empty()) return failed(kExitFailure, error);
  if (!options.profile.empty()) setenv("CUVMM_PROFILE", options.profile.c_str(), 1);
  const LoadedDriver loaded = load_driver(path, options.allow_multicast);
  if (!loaded.error.empty()) return failed(kExitFailure, loaded.error);

  RunOptions run;
  run.timeout = std::chrono::milliseconds(static_cast<long>(options.timeout_s * 1000));
  // Under `cuvmm run`, the processes must end by exit(), because the shim then writes their
  // reports.
  run.normal_exit = getenv("CUVMM_REPORT_DIR") != nullptr || getenv("CUVMM_REPORT") != nullptr;
  fflush(nullptr);
  const std::vector<Outcome> outcomes = run_program(loaded.driver, file.program, run);

  std::size_t different = 0, silent = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Statement& statement = file.program.statements[i];
    if (!went_well(statement, outcomes[i])) {
      ++different;
    } else if (!statement.expected) {
      ++silent;
    }
  }
  if (options.json) {
    nlohmann::ordered_json all;
    all["driver"] = {{"path", loaded.path}, {"emulated", loaded.emulated}};
    all["statements"] = as_json(file.program, outcomes);
    all["different"] = different;
    print_output("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print_output("driver {}{}\n", loaded.path, loaded.emulated ? " (emulator)" : "");
    print_table(file.program, outcomes);
    print_output("{} statements: {} as expected, {} different, {} without expectation\n",
                 outcomes.size(), outcomes.size() - different - silent, different, silent);
  }
  return different ? kExitDifference : 0;
}

}  // namespace cuvmm::tools
