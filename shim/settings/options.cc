// SPDX-License-Identifier: Apache-2.0
#include "shim/settings/options.h"

#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace cuvmm::shim {

namespace {

std::string text(const char* variable) {
  // "" if the program has more rights than the user who started it (AT_SECURE).
  const char* value = ::secure_getenv(variable);
  return value ? value : "";
}

// The path as an absolute path; "" stays "".
std::string file(const char* variable) {
  const std::string path = text(variable);
  return path.empty() || path.front() == '/' ? path : start_folder() + "/" + path;
}

void complain(Options& options, const char* variable, const std::string& value,
              const char* expected) {
  if (!options.complaint.empty()) return;
  options.complaint =
      std::string(variable) + "=" + value + " is not understood: expected " + expected;
}

bool flag(Options& options, const char* variable) {
  const std::string value = text(variable);
  if (value.empty() || value == "0" || value == "no" || value == "off") return false;
  if (value != "1" && value != "yes" && value != "on") {
    complain(options, variable, value, "0 or 1");
    return false;
  }
  return true;
}

// A number from `least` to `most`; `otherwise` if the variable is not set or not understood.
int number(Options& options, const char* variable, int least, int most, int otherwise) {
  const std::string value = text(variable);
  if (value.empty()) return otherwise;
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (*end == '\0' && number >= least && number <= most) return static_cast<int>(number);
  complain(options, variable, value,
           ("a number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
  return otherwise;
}

std::uint64_t address(Options& options, const char* variable) {
  const std::string value = text(variable);
  if (value.empty()) return 0;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(value.c_str(), &end, 16);
  if (*end == '\0') return number;
  complain(options, variable, value, "an address such as 0x7f0000200000");
  return 0;
}

LeakCheck leak_check(Options& options) {
  const std::string value = text("CUVMM_LEAK_CHECK");
  if (value.empty() || value == "summary") return LeakCheck::kSummary;
  if (value == "full") return LeakCheck::kFull;
  if (value == "no") return LeakCheck::kNo;
  complain(options, "CUVMM_LEAK_CHECK", value, "summary, full or no");
  return LeakCheck::kSummary;
}

// USR1, SIGUSR2, or a number: only signals that have no fixed meaning.
int leaks_signal(Options& options) {
  std::string value = text("CUVMM_LEAKS_SIGNAL");
  if (value.empty()) return 0;
  if (value.starts_with("SIG")) value.erase(0, 3);
  if (value == "USR1") return SIGUSR1;
  if (value == "USR2") return SIGUSR2;
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (*end == '\0' && number >= SIGRTMIN && number <= SIGRTMAX) return static_cast<int>(number);
  complain(options, "CUVMM_LEAKS_SIGNAL", value, "USR1, USR2 or the number of a real-time signal");
  return 0;
}

AsyncMode async_mode(Options& options) {
  const std::string value = text("CUVMM_ASYNC");
  if (value.empty() || value == "observed") return AsyncMode::kObserved;
  if (value == "exact") return AsyncMode::kExact;
  if (value == "off") return AsyncMode::kOff;
  complain(options, "CUVMM_ASYNC", value, "off, observed or exact");
  return AsyncMode::kObserved;
}

ColorChoice color_choice(Options& options) {
  const std::string value = text("CUVMM_COLOR");
  if (value.empty() || value == "auto") return ColorChoice::kAuto;
  if (value == "always") return ColorChoice::kAlways;
  if (value == "never") return ColorChoice::kNever;
  complain(options, "CUVMM_COLOR", value, "auto, always or never");
  return ColorChoice::kAuto;
}

}  // namespace

const std::string& start_folder() {
  static const std::string* const kFolder = [] {
    char folder[PATH_MAX];
    return new std::string(::getcwd(folder, sizeof folder) ? folder : ".");
  }();
  return *kFolder;
}

std::string with_pid(const std::string& pattern, int pid) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] == 'p') {
      result += std::to_string(pid);
      ++i;
    } else {
      result += pattern[i];
    }
  }
  return result;
}

Options read_options(int pid) {
  Options options;
  options.driver = file("CUVMM_DRIVER");
  options.report = with_pid(file("CUVMM_REPORT"), pid);
  options.report_dir = file("CUVMM_REPORT_DIR");
  options.suppressions = file("CUVMM_SUPPRESSIONS");
  options.trace = with_pid(file("CUVMM_TRACE"), pid);
  options.trace_calls = text("CUVMM_TRACE_CALLS");
  options.trace_errors = flag(options, "CUVMM_TRACE_ERRORS");
  if (text("CUVMM_RING") != "off") options.ring = file("CUVMM_RING");
  if (text("CUVMM_LIVE") != "off") options.live = file("CUVMM_LIVE");
  options.judged = !options.live.empty() && !text("CUVMM_RUN").empty();
  options.timeline = file("CUVMM_TIMELINE");
  options.fail = text("CUVMM_FAIL");
  options.fail_log = file("CUVMM_FAIL_LOG");
  options.guards.guard = flag(options, "CUVMM_GUARD");
  options.guards.quarantine =
      static_cast<std::size_t>(number(options, "CUVMM_QUARANTINE", 0, 1000000, 0));
  options.guards.poison = flag(options, "CUVMM_POISON");
  options.check_kernels = text("CUVMM_KERNELS").starts_with("check");
  options.keep_last_calls = flag(options, "CUVMM_RING_KEEP");
  options.fault_address = address(options, "CUVMM_FAULT_ADDRESS");
  options.scope = text("CUVMM_SCOPE");
  options.nvtx_include = text("CUVMM_NVTX_INCLUDE");
  options.leak_check = leak_check(options);
  options.leaks_signal = leaks_signal(options);
  options.enforce = flag(options, "CUVMM_ENFORCE");
  options.allow_multicast = flag(options, "CUVMM_ALLOW_MULTICAST");
  options.quiet = flag(options, "CUVMM_QUIET");
  options.verbose = flag(options, "CUVMM_VERBOSE");
  options.no_summary = flag(options, "CUVMM_NO_SUMMARY");
  options.no_symbols = flag(options, "CUVMM_NO_SYMBOLS");
  options.color = color_choice(options);
  options.limit = number(options, "CUVMM_LIMIT", 0, 1000000, -1);
  options.no_python_frames = flag(options, "CUVMM_NO_PYTHON_FRAMES");
  options.stack_depth = number(options, "CUVMM_STACK_DEPTH", 1, kMaxFrames, kMaxFrames);
  options.async = async_mode(options);
  options.unordered = flag(options, "CUVMM_UNORDERED") || options.async == AsyncMode::kExact;
  options.error_exit_code = number(options, "CUVMM_ERROR_EXITCODE", 0, 255, 0);
  return options;
}

}  // namespace cuvmm::shim
