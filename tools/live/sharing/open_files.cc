// SPDX-License-Identifier: Apache-2.0
#include "tools/live/sharing/open_files.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "api/words.h"

namespace cuvmm::tools {

namespace {

// A process that polls many sockets may have very many descriptors; the driver's are among the
// first.
constexpr std::size_t kMostLookedAt = 4096;

// The names that are numbers in a folder of /proc.
std::vector<int> numbers_in(const std::string& folder, std::size_t most) {
  std::vector<int> numbers;
  DIR* const names = ::opendir(folder.c_str());
  if (!names) return numbers;
  while (const dirent* const entry = ::readdir(names)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (numbers.size() == most) break;
    numbers.push_back(std::atoi(entry->d_name));
  }
  ::closedir(names);
  return numbers;
}

std::string program_of(int pid) {
  std::string name;
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::getline(file, name);
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

}  // namespace

std::string link_of(int pid, int fd) {
  char target[512];
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

std::vector<int> open_descriptors(int pid, std::size_t most) {
  return numbers_in(fmt::format("/proc/{}/fd", pid), most);
}

std::vector<int> processes_of_user() {
  std::vector<int> pids;
  for (const int pid : numbers_in("/proc", ~std::size_t{0})) {
    struct stat status {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) continue;
    if (status.st_uid == ::geteuid()) pids.push_back(pid);
  }
  return pids;
}

std::vector<DeviceFiles> device_file_keepers(const std::set<int>& shown,
                                             const std::string& prefix) {
  std::vector<DeviceFiles> keepers;
  for (const int pid : processes_of_user()) {
    if (shown.contains(pid)) continue;
    DeviceFiles one{pid, "", 0};
    for (const int fd : open_descriptors(pid, kMostLookedAt)) {
      if (link_of(pid, fd).starts_with(prefix)) ++one.count;
    }
    if (one.count == 0) continue;
    one.program = program_of(pid);
    keepers.push_back(std::move(one));
  }
  return keepers;
}

std::string device_files_text(const std::vector<DeviceFiles>& keepers) {
  std::string text;
  for (const DeviceFiles& one : keepers) {
    text += fmt::format("{} ({}) has {} of the driver open, and shows nothing here\n", one.pid,
                        one.program, count_text(one.count, "file"));
  }
  if (!keepers.empty()) {
    text +=
        "A forked worker keeps what it inherited: memory of a process that has ended stays taken\n"
        "until the worker ends, too. Other programs on a GPU are listed as well.\n";
  }
  return text;
}

}  // namespace cuvmm::tools
