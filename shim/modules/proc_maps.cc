// SPDX-License-Identifier: Apache-2.0
#include "shim/modules/proc_maps.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace cuvmm::shim {

namespace {

std::string_view next_field(std::string_view& line, char end) {
  const std::string_view field = line.substr(0, line.find(end));
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  return field;
}

bool hex(std::string_view digits, std::uint64_t& value) {
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return error == std::errc{} && end == digits.data() + digits.size();
}

}  // namespace

std::string read_proc_maps() {
  // Makes the system calls itself, because the C library's functions are cancellation points.
  std::string text;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  for (long got; (got = ::syscall(SYS_read, fd, block, sizeof block)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  ::syscall(SYS_close, fd);
  return text;
}

// 7f12a000-7f12b000 r-xp 00001000 08:01 1234   /usr/lib/libfoo.so
std::optional<ProcMapping> next_mapping(std::string_view& maps) {
  while (!maps.empty()) {
    std::string_view line = next_field(maps, '\n');
    ProcMapping mapping{};
    const std::size_t slash = line.find('/');
    if (slash != std::string_view::npos) mapping.path = line.substr(slash);
    const std::string_view low = next_field(line, '-');
    const std::string_view high = next_field(line, ' ');
    mapping.permissions = next_field(line, ' ');
    const std::string_view offset = next_field(line, ' ');
    if (hex(low, mapping.low) && hex(high, mapping.high) && hex(offset, mapping.offset))
      return mapping;
  }
  return std::nullopt;
}

std::optional<ProcMapping> next_file_mapping(std::string_view& maps) {
  auto mapping = next_mapping(maps);
  while (mapping && mapping->path.empty()) mapping = next_mapping(maps);
  return mapping;
}

}  // namespace cuvmm::shim
