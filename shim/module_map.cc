#include "shim/module_map.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace cuvmm::shim {

namespace {

// By the system calls themselves: the C library's functions are cancellation points.
std::string read_whole(const char* path) {
  std::string text;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  for (long got; (got = ::syscall(SYS_read, fd, block, sizeof block)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  ::syscall(SYS_close, fd);
  return text;
}

std::uint64_t hex(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

}  // namespace

ModuleMap ModuleMap::of_this_process() { return ModuleMap(read_whole("/proc/self/maps")); }

// 7f12a000-7f12b000 r-xp 00001000 08:01 1234   /usr/lib/libfoo.so
ModuleMap::ModuleMap(std::string maps) : text_(std::move(maps)) {
  std::string_view rest = text_;
  std::uint64_t base = 0;
  std::string_view last;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t dash = line.find('-');
    const std::size_t space = line.find(' ');
    const std::size_t slash = line.find('/');
    if (dash == std::string_view::npos || space == std::string_view::npos || dash > space ||
        slash == std::string_view::npos)
      continue;
    const std::string_view path = line.substr(slash);
    const std::uint64_t low = hex(line.substr(0, dash));
    // Mappings of one object follow each other; the first is its load address.
    if (path != last) base = low;
    last = path;
    mappings_.push_back({low, hex(line.substr(dash + 1, space - dash - 1)), base, path});
  }
}

ModuleMap::Place ModuleMap::find(std::uint64_t address) const {
  auto mapping = std::ranges::upper_bound(mappings_, address, {}, &Mapping::low);
  if (mapping == mappings_.begin()) return {};
  --mapping;
  if (address >= mapping->high) return {};
  return {mapping->path, address - mapping->base};
}

}  // namespace cuvmm::shim
