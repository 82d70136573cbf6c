// SPDX-License-Identifier: Apache-2.0
// The main function of a recorder: records, compares with a file, or prints a file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "fuzz/record/recorder.h"

namespace cuvmm::fuzz {

/// A Tool has static members:
///   kName, kUsage
///   fit(arguments)                  whether they are for this recorder; may mend them
///   record(options)                 RecordSummary
///   parse(bytes, every)             a recording with its `error`, `machine` and `programs`
///   abridge(recording, comparison)  the file of an abridged recording
///   compare(recording, arguments)   a comparison with its `error`, counts and `differences`
///   machine_text(recording)         what its first line says of the machine beside the devices
///   counts_text(comparison)         what it says beside the calls
///   print(program)                  on stdout
template <class Tool>
int recorder_main(int argc, char** argv) {
  const auto fail = [](const std::string& error) {
    std::fprintf(stderr, "%s: %s\n", Tool::kName, error.c_str());
    return 3;
  };
  auto arguments = recorder_arguments(argc, argv);
  if (!arguments || !Tool::fit(*arguments)) {
    std::fputs(Tool::kUsage, stderr);
    return 2;
  }
  const std::string& file = arguments->print.empty() ? arguments->compare : arguments->print;
  if (file.empty()) return tell(Tool::kName, Tool::record(arguments->record));
  const auto recording = Tool::parse(file_bytes(file), arguments->every);
  if (!recording.error.empty()) return fail(file + ": " + recording.error);
  if (!arguments->print.empty()) {
    std::size_t number = 0;
    for (const auto& program : recording.programs) {
      std::printf("program %zu\n", number++);
      Tool::print(program);
    }
    return 0;
  }
  setenv("CUVMM_DEVICES", std::to_string(recording.machine.devices).c_str(), 1);
  const auto result = Tool::compare(recording, *arguments);
  if (!result.error.empty()) return fail(result.error);
  std::printf(
      "%s, driver %d, %d device(s)%s: %zu programs, %llu calls compared, %llu beyond comparison, "
      "%s%llu differ without a reason\n",
      recording.machine.gpu.c_str(), recording.machine.driver_version, recording.machine.devices,
      Tool::machine_text(recording).c_str(), recording.programs.size(),
      static_cast<unsigned long long>(result.calls), static_cast<unsigned long long>(result.beyond),
      Tool::counts_text(result).c_str(), static_cast<unsigned long long>(result.unexplained));
  tell(result.differences);
  if (!arguments->abridge.empty() && result.unexplained == 0) {
    if (!recording.abridged.empty()) return fail(file + " is abridged already");
    std::ofstream out(arguments->abridge, std::ios::binary);
    out << Tool::abridge(recording, result);
    if (!out.flush()) return fail("cannot write " + arguments->abridge);
  }
  return result.unexplained ? 1 : 0;
}

}  // namespace cuvmm::fuzz
