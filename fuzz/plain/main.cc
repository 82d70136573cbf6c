// SPDX-License-Identifier: Apache-2.0
// cuvmm-fuzz-plain: records a driver's answers to generated programs about plain memory.
#include "fuzz/plain/record.h"
#include "fuzz/record/recorder_main.h"

namespace cuvmm::fuzz::plain {
namespace {

struct Tool {
  static constexpr const char* kName = "cuvmm-fuzz-plain";
  static constexpr const char* kUsage =
      "usage: cuvmm-fuzz-plain --driver LIBCUDA --output FILE [--calls N] [--seed N] [--seconds "
      "S]\n"
      "       cuvmm-fuzz-plain --driver LIBCUDA --compare FILE [--permitted LIST] [--every N]\n"
      "                        [--abridge FILE]\n"
      "       cuvmm-fuzz-plain --print FILE\n"
      "As cuvmm-fuzz-record, but about memory of cuMemAlloc, pitched, host, registered, pooled "
      "and\n"
      "mapped memory: what is asked of it, and every shape of fill and copy.\n"
      "Exit code: 0 recorded, or no difference that is not permitted; 1 differences; 2 a mistake "
      "in\n"
      "the arguments; 3 no driver.\n";

  // Only cuvmm-fuzz-record takes the other arguments.
  static bool fit(const RecorderArguments& arguments) {
    return arguments.record.processes == 1 && arguments.record.profile.empty() && !arguments.cut;
  }
  static RecordSummary record(const RecordOptions& options) { return plain::record(options); }
  static Recording parse(const std::string& bytes, std::size_t every) {
    return parse_recording(bytes, every);
  }
  static std::string abridge(const Recording& recording, const Comparison& comparison) {
    return abridged_recording(recording, comparison.abridged, comparison.digests, kDigestGroup);
  }
  static Comparison compare(const Recording& recording, const RecorderArguments& arguments) {
    const Functions driver = load_functions(arguments.record.driver);
    Comparison out;
    out.error = driver.error;
    if (!out.error.empty()) return out;
    return plain::compare(recording, driver, file_bytes(arguments.permitted));
  }
  static std::string machine_text(const Recording&) { return {}; }
  static std::string counts_text(const Comparison&) { return {}; }
  static void print(const RecordedProgram& program) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      std::printf("  %s  # %s\n", op_text(program.ops[i]).c_str(),
                  answer_text(program.answers[i]).c_str());
    }
  }
};

}  // namespace
}  // namespace cuvmm::fuzz::plain

int main(int argc, char** argv) {
  return cuvmm::fuzz::recorder_main<cuvmm::fuzz::plain::Tool>(argc, argv);
}
