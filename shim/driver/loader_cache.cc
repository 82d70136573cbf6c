// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/loader_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace cuvmm::shim {

namespace {

// The layout is glibc's sysdeps/generic/dl-cache.h: a magic of 20 bytes, counts, then entries whose
// strings are offsets from the start of this header.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kHeaderSize = 48;
constexpr std::size_t kEntrySize = 24;

#if defined(__x86_64__)
constexpr std::uint32_t kMachineFlags = 0x0303;  // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
#elif defined(__aarch64__)
constexpr std::uint32_t kMachineFlags = 0x0a03;  // FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6
#endif

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at <= bytes.size() && bytes.size() - at >= sizeof value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
  }
  return value;
}

// The zero-terminated string at an offset; empty when it lies outside.
std::string_view read_string(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(at);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

std::vector<std::string> find_in_loader_cache(std::string_view bytes, std::string_view soname) {
  std::vector<std::string> found;
  // The old format may come first, with the current one behind it.
  const std::size_t start = bytes.find(kMagic);
  if (start == std::string_view::npos) return found;
  const std::string_view cache = bytes.substr(start);
  const std::uint32_t count = read_u32(cache, kMagic.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t entry = kHeaderSize + std::size_t{i} * kEntrySize;
    if (entry + kEntrySize > cache.size()) break;
    if (read_u32(cache, entry) != kMachineFlags) continue;
    if (read_string(cache, read_u32(cache, entry + 4)) != soname) continue;
    const std::string_view path = read_string(cache, read_u32(cache, entry + 8));
    if (!path.empty()) found.emplace_back(path);
  }
  return found;
}

std::vector<std::string> find_in_loader_cache_file(const char* path, std::string_view soname) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string bytes;
  char block[65536];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) > 0;) {
    bytes.append(block, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return find_in_loader_cache(bytes, soname);
}

}  // namespace cuvmm::shim
