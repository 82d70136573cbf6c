// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-record: a driver's answers to generated programs, and their comparison with another's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fuzz/ops/text.h"
#include "fuzz/record/record.h"

namespace cuvmm::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: cuvmm-fuzz-record --driver LIBCUDA --output FILE [--calls N] [--seed N] [--seconds S]\n"
    "                         [--processes N]\n"
    "       cuvmm-fuzz-record --driver LIBCUDA --compare FILE [--permitted LIST]\n"
    "       cuvmm-fuzz-record --print FILE\n"
    "Records what a libcuda answers to programs generated from a seed (100000 calls, 55 s at "
    "most),\n"
    "or runs the recorded programs on another one and prints where the answers differ,\n"
    "or prints the programs and the answers that were recorded.\n"
    "--processes 2: programs of two processes that share memory.\n"
    "cuMulticast* is never called. Exit code: 0 recorded, or no difference that is not permitted;\n"
    "1 differences; 2 a mistake in the arguments; 3 no driver.\n";

int fail(const std::string& error) {
  std::fprintf(stderr, "cuvmm-fuzz-record: %s\n", error.c_str());
  return 3;
}

int compare_with_file(const RecorderArguments& arguments) {
  const Recording recording = parse_recording(file_bytes(arguments.compare));
  if (!recording.error.empty()) return fail(arguments.compare + ": " + recording.error);
  setenv("CUVMM_DEVICES", std::to_string(recording.machine.devices).c_str(), 1);
  // Forked before this process uses a driver.
  auto peer =
      recording.machine.processes > 1 ? std::make_unique<Peer>(arguments.record.driver) : nullptr;
  const LoadedDriver loaded = load_driver(arguments.record.driver);
  if (!loaded.error.empty()) return fail(loaded.error);
  const Comparison result = fuzz::compare(recording, loaded.driver, arguments.record.profile,
                                          file_bytes(arguments.permitted), std::move(peer));
  if (!result.error.empty()) return fail(result.error);
  std::printf(
      "%s, driver %d, %d device(s), %d process(es): %zu programs, %llu calls compared, %llu beyond "
      "comparison, "
      "%llu deaths foreseen, %llu differ without a reason\n",
      recording.machine.gpu.c_str(), recording.machine.driver_version, recording.machine.devices,
      recording.machine.processes, recording.programs.size(),
      static_cast<unsigned long long>(result.calls), static_cast<unsigned long long>(result.beyond),
      static_cast<unsigned long long>(result.deaths),
      static_cast<unsigned long long>(result.unexplained));
  tell(result.differences);
  return result.unexplained ? 1 : 0;
}

int print_file(const std::string& path) {
  const Recording recording = parse_recording(file_bytes(path));
  if (!recording.error.empty()) return fail(path + ": " + recording.error);
  std::size_t number = 0;
  for (const RecordedProgram& program : recording.programs) {
    std::vector<Note> notes;
    for (const RecordedAnswer& answer : program.answers) notes.push_back({answer_text(answer), {}});
    std::printf("program %zu\n%s\n", number++, to_text(program.ops, notes).c_str());
  }
  return 0;
}

int run(int argc, char** argv) {
  auto arguments = recorder_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments->print.empty()) return print_file(arguments->print);
  if (!arguments->compare.empty()) return compare_with_file(*arguments);
  arguments->record.processes = std::clamp(arguments->record.processes, 1, kProcesses);
  return tell("cuvmm-fuzz-record", fuzz::record(arguments->record));
}

}  // namespace
}  // namespace cuvmm::fuzz

int main(int argc, char** argv) { return cuvmm::fuzz::run(argc, argv); }
