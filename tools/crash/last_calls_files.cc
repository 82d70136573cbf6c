// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/last_calls_files.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "api/driver/driver.h"
#include "api/posix/process_start.h"
#include "recorder/last_calls/reading.h"
#include "recorder/last_calls/text.h"
#include "tools/report/report_merge.h"

namespace cuvmm::tools {

namespace {

// Whether the signal asks a process to end: such an end is no crash.
bool is_request(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGPIPE ||
         signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGALRM;
}

// `went_on`: the process replaced its program by exec, and the new program has a file of its own.
int signal_of(const last_calls::Reading& reading, const TreeResult& tree, bool went_on) {
  if (reading.state == last_calls::State::kSignal) return reading.signal;
  if (went_on) return 0;
  if (reading.pid == tree.pid && tree.signal != 0) return tree.signal;
  const auto found = tree.signals.find(static_cast<pid_t>(reading.pid));
  return found == tree.signals.end() ? 0 : found->second;
}

std::string where(const last_calls::Reading& reading) {
  if (reading.pending.empty()) return "";
  const last_calls::EntrySeen* const entry = reading.entry(reading.pending.back());
  return entry ? " in " + entry->name : "";
}

// The memory that had ended at the address of the process's fault, if it had.
std::string what_was_there(const last_calls::Reading& reading) {
  if (!reading.address) return "";
  for (const std::string& line : last_calls::near_address(reading, *reading.address)) {
    if (line.find(" lies in what was ") != std::string::npos) return ": " + line;
  }
  return "";
}

// The pid in the name of a file, where the shim named the file.
std::string process_of(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename();
  return name.substr(0, name.find('-'));
}

// Why the user should look at the file; "" where there is no reason.
std::string reason(const last_calls::Reading& reading, const TreeResult& tree, bool went_on) {
  if (reading.fault_result != 0) {
    return "saw " + result_name(static_cast<CUresult>(reading.fault_result));
  }
  const int signal = signal_of(reading, tree, went_on);
  if (signal != 0) {
    if (is_request(signal)) return "";
    return "was ended by " + signal_text(signal) + where(reading) + what_was_there(reading);
  }
  // Only the parent knows the end of such a process. The process did not exit, and did not exec,
  // because exec comes between calls.
  const bool cut =
      !went_on && reading.state == last_calls::State::kRunning && !reading.pending.empty();
  return cut && !tree.left_running ? "was ended" + where(reading) : "";
}

}  // namespace

std::vector<LastCallsFile> keep_last_calls(const std::string& folder, const TreeResult& tree,
                                           bool all) {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".ring") files.insert(at->path().string());
  }
  const RunId mine{static_cast<std::uint64_t>(::getpid()), process_start("self")};
  std::vector<LastCallsFile> selected;
  for (auto at = files.begin(); at != files.end(); ++at) {
    const std::string& file = *at;
    const auto next = std::next(at);
    const bool went_on = next != files.end() && process_of(*next) == process_of(file);
    last_calls::Reading reading;
    const std::string problem = last_calls::read_file(file, reading);
    // A folder that outlives the run may hold files of other runs, and files that other programs
    // put there.
    if (all && (!problem.empty() || reading.run != mine)) continue;
    const std::string why = problem.empty() ? reason(reading, tree, went_on) : "";
    if (why.empty()) {
      if (!all) std::filesystem::remove(file, error);
      continue;
    }
    const std::string program = std::filesystem::path(reading.program).filename().string();
    selected.push_back({file, fmt::format("process {}{} {}", reading.pid,
                                          program.empty() ? "" : " (" + program + ")", why)});
  }
  return selected;
}

}  // namespace cuvmm::tools
