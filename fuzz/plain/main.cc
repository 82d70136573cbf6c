// cuvmm-fuzz-plain: what a driver answers to generated programs about plain memory.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

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

struct Arguments {
  RecordOptions record;
  std::string compare, permitted, print;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    const char* value = argv[i + 1];
    if (key == "--driver") {
      out.record.driver = value;
    } else if (key == "--output") {
      out.record.output = value;
    } else if (key == "--calls") {
      out.record.calls = std::strtoull(value, nullptr, 0);
    } else if (key == "--seed") {
      out.record.seed = std::strtoull(value, nullptr, 0);
    } else if (key == "--seconds") {
      out.record.time =
          std::chrono::milliseconds(static_cast<std::int64_t>(1000 * std::atof(value)));
    } else if (key == "--compare") {
      out.compare = value;
    } else if (key == "--permitted") {
      out.permitted = value;
    } else if (key == "--print") {
      out.print = value;
    } else {
      return std::nullopt;
    }
  }
  const int jobs = !out.record.output.empty() + !out.compare.empty() + !out.print.empty();
  if (jobs != 1 || out.record.driver.empty() == out.print.empty()) return std::nullopt;
  return out;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

int fail(const std::string& error) {
  std::fprintf(stderr, "cuvmm-fuzz-plain: %s\n", error.c_str());
  return 3;
}

int record_to_file(const RecordOptions& options) {
  const RecordSummary done = record(options);
  if (!done.error.empty()) return fail(done.error);
  std::printf("%llu programs, %llu calls, %llu succeeded, %llu left out, %u restarts, %.1f s\n",
              static_cast<unsigned long long>(done.programs),
              static_cast<unsigned long long>(done.calls),
              static_cast<unsigned long long>(done.succeeded),
              static_cast<unsigned long long>(done.left_out), done.restarts, done.seconds);
  return 0;
}

int compare_with_file(const Arguments& arguments) {
  const Recording recording = parse_recording(read(arguments.compare));
  if (!recording.error.empty()) return fail(arguments.compare + ": " + recording.error);
  setenv("CUVMM_DEVICES", std::to_string(recording.machine.devices).c_str(), 1);
  const Functions driver = load_functions(arguments.record.driver);
  if (!driver.error.empty()) return fail(driver.error);
  const Comparison result = compare(
      recording, driver, arguments.permitted.empty() ? std::string() : read(arguments.permitted));
  if (!result.error.empty()) return fail(result.error);
  std::printf(
      "%s, driver %d, %d device(s): %zu programs, %llu calls compared, %llu beyond comparison, "
      "%llu differ without a reason\n",
      recording.machine.gpu.c_str(), recording.machine.driver_version, recording.machine.devices,
      recording.programs.size(), static_cast<unsigned long long>(result.calls),
      static_cast<unsigned long long>(result.beyond),
      static_cast<unsigned long long>(result.unexplained));
  for (const Difference& d : result.differences) {
    std::printf("\n%llu x %s\n", static_cast<unsigned long long>(d.count), d.kind.c_str());
    if (d.reason.empty()) {
      std::printf("%s%s%s", d.example.c_str(), d.others.empty() ? "" : "others:\n",
                  d.others.c_str());
    } else {
      std::printf("  permitted: %s\n", d.reason.c_str());
    }
  }
  return result.unexplained ? 1 : 0;
}

int print_file(const std::string& path) {
  const Recording recording = parse_recording(read(path));
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
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments->print.empty()) return print_file(arguments->print);
  return arguments->compare.empty() ? record_to_file(arguments->record)
                                    : compare_with_file(*arguments);
}

}  // namespace
}  // namespace cuvmm::fuzz::plain

int main(int argc, char** argv) { return cuvmm::fuzz::plain::run(argc, argv); }
