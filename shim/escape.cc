#include "shim/escape.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>

namespace cuvmm::shim {

namespace {

std::string_view next_field(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = std::min(line.find(' ', start), line.size());
  const std::string_view field = line.substr(start, end - start);
  line.remove_prefix(end);
  return field;
}

// Into a buffer: memory of the program's heap may be what a signal interrupted.
std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? resolved : path;
}

std::string own_path() {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void*>(&own_path), &self) || !self.dli_fname) return {};
  return real_path(self.dli_fname);
}

}  // namespace

std::vector<std::string> escaped_libraries_in(std::string_view maps,
                                              const std::vector<std::string>& known) {
  // How many times each part of a file that holds code is mapped. Who only reads the file (a
  // debugger, a profiler) maps none of it to be run; a loader maps each part once per load. One
  // that mprotect cut in pieces has pieces of different offsets.
  std::map<std::string, std::map<std::string, int>> loads;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    next_field(line);  // addresses
    const std::string_view permissions = next_field(line);
    const std::string_view offset = next_field(line);
    next_field(line);  // device
    next_field(line);  // inode
    const std::size_t start = line.find('/');
    if (start == std::string_view::npos || permissions.find('x') == std::string_view::npos)
      continue;
    const std::string_view path = line.substr(start);
    if (!path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) continue;
    ++loads[std::string(path)][std::string(offset)];
  }
  std::vector<std::string> escaped;
  for (const auto& [path, parts] : loads) {
    const bool ours = std::find(known.begin(), known.end(), path) != known.end();
    const bool again =
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.second > 1; });
    if (!ours || again) escaped.push_back(path);
  }
  return escaped;
}

std::vector<std::string> escaped_libraries(const std::string& driver) {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string maps;
  char block[16384];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) > 0;) {
    maps.append(block, static_cast<std::size_t>(got));
  }
  ::close(fd);
  std::vector<std::string> known{own_path()};
  if (!driver.empty()) known.push_back(real_path(driver));
  return escaped_libraries_in(maps, known);
}

}  // namespace cuvmm::shim
