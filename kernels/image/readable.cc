// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/readable.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/sizes.h"

namespace cuvmm::kernels {

namespace {

// Used where process_vm_readv() is forbidden. It counts mapped memory without read access as
// readable.
bool is_mapped(std::uintptr_t page) {
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(page), kPage, &resident) == 0 || errno != ENOMEM;
}

// Whether a byte of each of `count` pages can be read.
bool can_read(const iovec* pages, std::size_t count) {
  char bytes[64];
  const iovec here{bytes, count};
  const ssize_t got = process_vm_readv(getpid(), &here, 1, pages, count, 0);
  if (got >= 0 || errno == EFAULT) return got == static_cast<ssize_t>(count);
  return std::all_of(pages, pages + count, [](const iovec& each) {
    return is_mapped(reinterpret_cast<std::uintptr_t>(each.iov_base) / kPage * kPage);
  });
}

}  // namespace

bool is_readable(const char* at, std::uint64_t size) {
  if (size == 0) return true;
  constexpr std::size_t kAtOnce = 64;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (size - 1 > UINTPTR_MAX - begin) return false;
  const std::uintptr_t last = (begin + (size - 1)) / kPage;
  for (std::uintptr_t page = begin / kPage; page <= last;) {
    iovec pages[kAtOnce];
    std::size_t count = 0;
    for (; count < kAtOnce && page <= last; ++page) {
      pages[count++] = {reinterpret_cast<void*>(std::max(begin, page * kPage)), 1};
    }
    if (!can_read(pages, count)) return false;
  }
  return true;
}

std::size_t readable_length(const char* text) {
  for (std::size_t length = 0;;) {
    if (!is_readable(text + length, 1)) return length;
    const std::size_t most = kPage - (reinterpret_cast<std::uintptr_t>(text) + length) % kPage;
    const std::size_t part = strnlen(text + length, most);
    length += part;
    if (part < most) return length;
  }
}

}  // namespace cuvmm::kernels
