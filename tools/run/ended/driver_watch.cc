// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/driver_watch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "api/posix/process_start.h"
#include "tools/report/tree/proc_text.h"
#include "tools/report/tree/process_end.h"

namespace cuvmm::tools {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kFirstInterval = 50 * kMillisecond, kLongest = 5000 * kMillisecond;
// The next look at a process comes after this part of the time since the first look at it.
constexpr std::uint64_t kPartOfAge = 8;
// The next look at all processes comes after this many times the CPU time of the last look. Elapsed
// time would grow with the load of the machine, and the looks would come too late.
constexpr std::uint64_t kSeldom = 50;

std::uint64_t own_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 * kMillisecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// All processes below this one, which also adopts orphans.
std::vector<pid_t> descendants() {
  std::vector<pid_t> found = {::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::error_code error;
    const std::string tasks = fmt::format("/proc/{}/task", found[i]);
    for (std::filesystem::directory_iterator at(tasks, error), end; !error && at != end;
         at.increment(error)) {
      std::istringstream children(proc_text(at->path().string() + "/children"));
      for (pid_t child; children >> child;) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

std::set<std::string> both(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> result;
  std::ranges::set_intersection(a, b, std::inserter(result, result.end()));
  return result;
}

std::string canonical(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

MappedDrivers drivers_in(const std::string& maps, const std::string& shim_name) {
  MappedDrivers found;
  std::map<std::pair<std::string, std::string>, int>
      parts;  // mappings of a file, by file and offset
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string range, permissions, offset, device, inode, path;
    words >> range >> permissions >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    if (constexpr std::string_view kDeleted = " (deleted)"; path.ends_with(kDeleted))
      path.resize(path.size() - kDeleted.size());
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    found.shim = found.shim || name == shim_name;
    if (permissions.find('x') == std::string::npos || !name.starts_with("libcuda.so")) continue;
    found.drivers.insert(path);
    if (++parts[{path, offset}] > 1) found.twice.insert(path);
  }
  return found;
}

DriverWatch::DriverWatch(const std::string& shim)
    : shim_name_(std::filesystem::path(canonical(shim)).filename()) {}

void DriverWatch::note(Watched& one, const MappedDrivers& seen, const std::string& folder) {
  // exec replaced the program, and the new program may lack the shim.
  if (seen.shim != one.before.shim) return;
  std::set<std::string> drivers = both(seen.drivers, one.before.drivers);
  if (drivers.empty()) return;
  if (seen.shim) {
    one.drivers.merge(drivers);
    one.twice.merge(both(seen.twice, one.before.twice));
  } else if (one.bare.empty()) {
    const std::string name = proc_text(folder + "/comm");
    one.bare = name.substr(0, name.find('\n'));
  }
}

void DriverWatch::look_at(Watched& one, const std::string& folder, std::uint64_t now) const {
  if (now < one.next_ns) return;
  const MappedDrivers seen = drivers_in(proc_text(folder + "/maps"), shim_name_);
  note(one, seen, folder);
  // A process with a change is looked at again soon.
  const bool news = seen.drivers != one.before.drivers || seen.twice != one.before.twice;
  if (one.first_ns == 0) one.first_ns = now;
  const std::uint64_t part = (now - one.first_ns) / kPartOfAge;
  one.next_ns = now + (news ? kFirstInterval : std::clamp(part, kFirstInterval, kLongest));
  one.before = seen;
}

void DriverWatch::look() {
  const std::uint64_t now = monotonic_ns();
  if (now < next_ns_) return;
  const std::uint64_t cpu = own_cpu_ns();
  std::set<Id> alive;
  for (const pid_t pid : descendants()) {
    const Id id = {pid, process_start(std::to_string(pid).c_str())};
    alive.insert(id);
    look_at(processes_[id], fmt::format("/proc/{}", pid), now);
  }
  std::erase_if(processes_, [&](const auto& entry) {
    return entry.second.nothing() && !alive.contains(entry.first);
  });
  const std::uint64_t took = own_cpu_ns() - cpu;
  next_ns_ = now + std::min(std::max(kFirstInterval, kSeldom * took), kLongest);
}

void DriverWatch::add_to(MergedReport& report, const std::vector<ProcessReport>& reports) const {
  std::set<std::string> known;  // drivers that the shim opened
  bool all_known = true;
  for (const ProcessReport& one : reports) {
    const bool named = one.error.empty() && one.value.contains("driver");
    all_known = all_known && named;
    if (named) known.insert(canonical(one.value["driver"].value("path", "")));
  }
  std::set<std::string> beside;
  for (const auto& [id, process] : processes_) {
    if (!process.bare.empty())
      report.without_shim.push_back(fmt::format("{} ({})", id.first, process.bare));
    if (!all_known) continue;
    beside.insert(process.twice.begin(), process.twice.end());
    std::ranges::set_difference(process.drivers, known, std::inserter(beside, beside.end()));
  }
  for (const Json& file : report.value.value("escaped", Json::array()))
    beside.erase(file.get<std::string>());
  for (const std::string& file : beside) report.value["escaped"].push_back(file);
}

}  // namespace cuvmm::tools
