// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-record: records a driver's answers to generated programs, and compares them with
// another driver's.
#include <algorithm>

#include "fuzz/ops/text.h"
#include "fuzz/record/record.h"
#include "fuzz/record/recorder_main.h"

namespace cuvmm::fuzz {
namespace {

struct Tool {
  static constexpr const char* kName = "cuvmm-fuzz-record";
  static constexpr const char* kUsage =
      "usage: cuvmm-fuzz-record --driver LIBCUDA --output FILE [--calls N] [--seed N] [--seconds "
      "S]\n"
      "                         [--processes N] [--further 1]\n"
      "       cuvmm-fuzz-record --driver LIBCUDA --compare FILE [--permitted LIST] [--every N]\n"
      "                         [--abridge FILE [--cut 1]]\n"
      "       cuvmm-fuzz-record --print FILE\n"
      "Records what a libcuda answers to programs generated from a seed (100000 calls, 55 s at "
      "most),\n"
      "or runs the recorded programs on another one and prints where the answers differ,\n"
      "or prints the programs and the answers that were recorded.\n"
      "--every N: one of N programs only. --abridge: what need not be stored of a full recording,\n"
      "since this driver, the emulator, answers the same, is left out of the new file.\n"
      "--cut 1: a program that has a difference without a reason is kept up to that call.\n"
      "--processes 2: programs of two processes that share memory. --further 1: programs also of\n"
      "streams, captures, graphs, arrays, words in memory, prefetches and places.\n"
      "Multicast is never used. Exit code: 0 recorded, or no difference that is not "
      "permitted;\n"
      "1 differences; 2 a mistake in the arguments; 3 no driver.\n";

  static bool fit(RecorderArguments& arguments) {
    arguments.record.processes = std::clamp(arguments.record.processes, 1, kProcesses);
    return true;
  }
  static RecordSummary record(const RecordOptions& options) { return fuzz::record(options); }
  static Recording parse(const std::string& bytes, std::size_t every) {
    return parse_recording(bytes, every);
  }
  static std::string abridge(const Recording& recording, const Comparison& comparison) {
    return abridged_recording(recording, comparison.abridged, comparison.digests, kDigestGroup);
  }
  static Comparison compare(const Recording& recording, const RecorderArguments& arguments) {
    const std::string& path = arguments.record.driver;
    // The peer must be forked before this process uses a driver.
    auto peer = recording.machine.processes > 1 ? std::make_unique<Peer>(path) : nullptr;
    const LoadedDriver loaded = load_driver(path);
    Comparison out;
    out.error = loaded.error;
    if (!out.error.empty()) return out;
    return fuzz::compare(recording, loaded.driver, arguments.record.profile,
                         {file_bytes(arguments.permitted), arguments.cut}, std::move(peer));
  }
  static std::string machine_text(const Recording& recording) {
    return ", " + std::to_string(recording.machine.processes) + " process(es)";
  }
  static std::string counts_text(const Comparison& result) {
    return std::to_string(result.deaths) + " deaths foreseen, " +
           (result.cuts ? std::to_string(result.cuts) + " programs cut off, " : "");
  }
  static void print(const RecordedProgram& program) {
    std::vector<Note> notes;
    for (const RecordedAnswer& answer : program.answers) notes.push_back({answer_text(answer), {}});
    std::printf("%s\n", to_text(program.ops, notes).c_str());
  }
};

}  // namespace
}  // namespace cuvmm::fuzz

int main(int argc, char** argv) {
  return cuvmm::fuzz::recorder_main<cuvmm::fuzz::Tool>(argc, argv);
}
