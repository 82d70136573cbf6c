// Descriptors from another process: a memfd of any contents, sealed or not, is looked at without
// harm. The first byte chooses the seals, the rest is the end of the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/shareable.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm::emulator;
  if (size < 2) return 0;
  const int fd = memfd_create("input", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (fd < 0) return 0;
  constexpr off_t kPage = 4096;
  // Granules of memory and a trailer page, as a real one has, or an odd size.
  const off_t pages = 512 * (data[0] >> 6) + (data[0] & 32 ? 1 : 0);
  if (ftruncate(fd, pages * kPage + (data[0] & 16 ? 7 : 0)) == 0) {
    const off_t at = pages ? (pages - 1) * kPage : 0;
    if (pwrite(fd, data + 1, size - 1, at) >= 0) {
      fcntl(fd, F_ADD_SEALS, data[0] & 15);
      const auto found = read_shareable(fd, 3);
      if (found && (found->size == 0 || found->prop.requestedHandleTypes != 0)) __builtin_trap();
    }
  }
  close(fd);
  return 0;
}
