// SPDX-License-Identifier: Apache-2.0
// Fuzzes descriptors from another process: a memfd of any content, sealed or not, is safe to
// import. The first byte chooses the seals and the size. The second byte chooses whether the last
// page is the input, or a genuine page with pairs of place and byte from the input.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "emulator/machine/shareable.h"

namespace cuvmm::emulator {
namespace {
constexpr off_t kPage = 4096;

// The last page of a descriptor of one to three pages of memory.
std::vector<std::uint8_t> genuine_page(unsigned choice) {
  static const auto pages = [] {
    std::vector<std::vector<std::uint8_t>> all;
    for (int count = 1; count <= 3; ++count) {
      CUmemAllocationProp prop{};
      prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      prop.location.id = 1;
      const int fd = create_shareable(static_cast<std::uint64_t>(count * kPage), prop);
      std::vector<std::uint8_t> page(kPage);
      if (fd < 0 || pread(fd, page.data(), page.size(), count * kPage) != kPage) __builtin_trap();
      close(fd);
      all.push_back(std::move(page));
    }
    return all;
  }();
  return pages[choice / 2 % pages.size()];
}
}  // namespace
}  // namespace cuvmm::emulator

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm::emulator;
  if (size < 3) return 0;
  const int fd = memfd_create("input", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (fd < 0) return 0;
  // Pages of memory and a trailer page, like a genuine one, or an odd size.
  const off_t pages = (data[0] >> 6) + (data[0] & 32 ? 1 : 0);
  const std::uint8_t* const bytes = data + 2;
  const std::size_t count = size - 2;
  if (ftruncate(fd, pages * kPage + (data[0] & 16 ? 7 : 0)) == 0) {
    const off_t at = pages ? (pages - 1) * kPage : 0;
    auto page = data[1] % 2 ? genuine_page(data[1]) : std::vector<std::uint8_t>(bytes, data + size);
    for (std::size_t i = 0; data[1] % 2 && i + 1 < count; i += 2) page[bytes[i]] = bytes[i + 1];
    if (pwrite(fd, page.data(), page.size(), at) >= 0) {
      fcntl(fd, F_ADD_SEALS, data[0] & 15);
      const auto found = read_shareable(fd, 3);
      if (found && (found->size == 0 || found->prop.requestedHandleTypes != 0)) __builtin_trap();
    }
  }
  close(fd);
  return 0;
}
