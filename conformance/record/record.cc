// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/record.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "conformance/record/case_workers.h"
#include "conformance/record/visible_devices.h"
#include "program/run_program.h"

namespace cuvmm::conformance {

using program::Outcome;
using program::outcome_text;
using program::parse_program;
using program::Program;
using program::run_program;
using program::RunOptions;
using program::Statement;

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string from_hex(const std::string& hex) {
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const char c = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    if (c == '\0') break;
    text += c;
  }
  return text;
}

// A program of its own asks the driver, because this process must not initialise CUDA.
std::string describe(const Driver& driver, const RunOptions& options, Recording& recording) {
  const Program questions = parse_program(
                                "init(context=no)\n"
                                "cuDeviceGetCount()\n"
                                "v = cuDriverGetVersion()\n"
                                "difference(v, 0)\n"
                                "b = host(128)\n"
                                "cuDeviceGetName(b, 127, 0)\n"
                                "bytes(b, 128)\n")
                                .program;
  const auto answers = run_program(driver, questions, options);
  if (answers.empty() || answers[0] != Outcome{Outcome::Status::kDone, CUDA_SUCCESS, "", ""}) {
    return "cuInit answered " + (answers.empty() ? "nothing" : outcome_text(answers[0]));
  }
  recording.devices = std::atoi(answers[1].value.c_str());
  recording.cuda_version = std::atoi(answers[3].value.c_str());
  recording.gpu = from_hex(answers[6].value);
  std::ifstream module("/sys/module/nvidia/version");
  std::getline(module, recording.driver_version);
  recording.date = utc_now();
  return {};
}

// Whether a shim refuses multicast: the shim decides whether multicast may reach its driver, and
// this call reaches the driver only if so.
bool shim_refuses_multicast(const LoadedDriver& loaded, const RunOptions& options) {
  if (loaded.emulated) return false;
  const Program question =
      parse_program(
          "init(context=no)\n"
          "cuMulticastGetGranularity({numDevices=1, size=2M}, option=minimum)\n")
          .program;
  const auto answers = run_program(loaded.driver, question, options);
  return answers.size() == 2 && answers[1].result == CUDA_ERROR_NOT_SUPPORTED;
}

bool fabric_channel() {
  std::error_code failed;
  const std::filesystem::path folder = "/dev/nvidia-caps-imex-channels";
  if (!std::filesystem::is_directory(folder, failed)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (access(entry.path().c_str(), R_OK | W_OK) == 0) return true;
  }
  return false;
}

// Whether the case reads state that all processes of the machine share, so that it must run alone.
bool must_run_alone(const Case* test_case) {
  const auto& statements = test_case->program.statements;
  return std::any_of(statements.begin(), statements.end(),
                     [](const Statement& s) { return s.function == "cuMemGetInfo"; });
}

std::set<int> shown_numbers(const std::vector<const Case*>& cases, const Machine& machine) {
  std::set<int> numbers;
  for (const Case* each : cases) numbers.insert(devices_to_show(*each, machine));
  numbers.erase(0);
  return numbers;
}

}  // namespace

RecordResult record_cases(const std::string& driver_path, const std::vector<Case>& cases,
                          const RecordOptions& options) {
  RecordResult result;
  const LoadedDriver loaded = load_driver(driver_path, options.allow_multicast);
  if (!loaded.error.empty()) {
    result.error = loaded.error;
    return result;
  }
  Recording& recording = result.recording;
  recording.driver = loaded.path;
  recording.emulated = loaded.emulated;
  // The questions about the machine belong to no case, so their process leaves no report.
  RunOptions quiet = options.run;
  quiet.normal_exit = false;
  result.error = describe(loaded.driver, quiet, recording);
  if (!result.error.empty()) return result;
  const bool multicast = loaded.multicast && !shim_refuses_multicast(loaded, quiet);
  const Machine machine{recording.devices, fabric_channel(),       multicast,
                        loaded.emulated,   recording.cuda_version, &loaded.driver};
  std::vector<const Case*> chosen;
  for (const Case& test_case : cases) {
    const bool wanted = options.exact
                            ? test_case.name == options.name_filter
                            : test_case.name.find(options.name_filter) != std::string::npos;
    if (!wanted) continue;
    if (std::string reason = unmet_need(test_case, machine); !reason.empty()) {
      recording.skipped[test_case.name] = std::move(reason);
    } else {
      chosen.push_back(&test_case);
    }
  }
  // A case that may see only some devices runs in processes from which the others are hidden.
  for (const int shown : shown_numbers(chosen, machine)) {
    const VisibleDevices fewer(shown);
    std::vector<const Case*> some;
    std::erase_if(chosen, [&](const Case* each) {
      if (devices_to_show(*each, machine) != shown) return false;
      some.push_back(each);
      return true;
    });
    run_in_workers(loaded.driver, some, options.jobs, options, recording);
  }
  const auto alone = std::stable_partition(chosen.begin(), chosen.end(),
                                           [](const Case* each) { return !must_run_alone(each); });
  run_in_workers(loaded.driver, {chosen.begin(), alone}, options.jobs, options, recording);
  run_in_workers(loaded.driver, {alone, chosen.end()}, 1, options, recording);
  if (!options.process_ids) recording.processes.clear();
  return result;
}

}  // namespace cuvmm::conformance
