// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-plain: what a driver answers to generated programs about plain memory.
#include <cstdio>
#include <cstdlib>

#include "fuzz/plain/record.h"

namespace cuvmm::fuzz::plain {
namespace {

constexpr const char* kUsage =
    "usage: cuvmm-fuzz-plain --driver LIBCUDA --output FILE [--calls N] [--seed N] [--seconds S]\n"
    "       cuvmm-fuzz-plain --driver LIBCUDA --compare FILE [--permitted LIST]\n"
    "       cuvmm-fuzz-plain --print FILE\n"
    "As cuvmm-fuzz-record, but about memory of cuMemAlloc, pitched, host, registered, pooled and\n"
    "mapped memory: what is asked of it, and every shape of fill and copy.\n"
    "Exit code: 0 recorded, or no difference that is not permitted; 1 differences; 2 a mistake in\n"
    "the arguments; 3 no driver.\n";

int fail(const std::string& error) {
  std::fprintf(stderr, "cuvmm-fuzz-plain: %s\n", error.c_str());
  return 3;
}

int compare_with_file(const RecorderArguments& arguments) {
  const Recording recording = parse_recording(file_bytes(arguments.compare));
  if (!recording.error.empty()) return fail(arguments.compare + ": " + recording.error);
  setenv("CUVMM_DEVICES", std::to_string(recording.machine.devices).c_str(), 1);
  const Functions driver = load_functions(arguments.record.driver);
  if (!driver.error.empty()) return fail(driver.error);
  const Comparison result = compare(recording, driver, file_bytes(arguments.permitted));
  if (!result.error.empty()) return fail(result.error);
  std::printf(
      "%s, driver %d, %d device(s): %zu programs, %llu calls compared, %llu beyond comparison, "
      "%llu differ without a reason\n",
      recording.machine.gpu.c_str(), recording.machine.driver_version, recording.machine.devices,
      recording.programs.size(), static_cast<unsigned long long>(result.calls),
      static_cast<unsigned long long>(result.beyond),
      static_cast<unsigned long long>(result.unexplained));
  tell(result.differences);
  return result.unexplained ? 1 : 0;
}

int print_file(const std::string& path) {
  const Recording recording = parse_recording(file_bytes(path));
  if (!recording.error.empty()) return fail(path + ": " + recording.error);
  std::size_t number = 0;
  for (const RecordedProgram& program : recording.programs) {
    std::printf("program %zu\n", number++);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      std::printf("  %s  # %s\n", op_text(program.ops[i]).c_str(),
                  answer_text(program.answers[i]).c_str());
    }
  }
  return 0;
}

int run(int argc, char** argv) {
  const auto arguments = recorder_arguments(argc, argv);
  // Those of cuvmm-fuzz-record alone.
  const bool foreign =
      arguments && (arguments->record.processes != 1 || !arguments->record.profile.empty());
  if (!arguments || foreign) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments->print.empty()) return print_file(arguments->print);
  if (!arguments->compare.empty()) return compare_with_file(*arguments);
  return tell("cuvmm-fuzz-plain", record(arguments->record));
}

}  // namespace
}  // namespace cuvmm::fuzz::plain

int main(int argc, char** argv) { return cuvmm::fuzz::plain::run(argc, argv); }
