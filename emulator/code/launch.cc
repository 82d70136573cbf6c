// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "emulator/base/say.h"
#include "emulator/base/system.h"

namespace cuvmm::emulator {

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free && sizeof(Count) == sizeof(std::uint64_t));

// Opens the file that `cuvmm run` reads after the last process has ended; -1 where no run wants a
// count.
int open_count_file(int flags) noexcept {
  const char* path = secure_getenv("CUVMM_LAUNCH_COUNT");
  if (!path || !*path) return -1;
  const int fd = sys_open(path, flags | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 8) return fd;
  sys_close(fd);
  return -1;
}

// Maps the count, so that the count of a process that is killed survives. Null where no run wants a
// count.
Count* open_counter() noexcept {
  void* at = MAP_FAILED;
  const int fd = open_count_file(O_RDWR);
  if (fd >= 0) {
    at = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sys_close(fd);
  }
  return at == MAP_FAILED ? nullptr : static_cast<Count*>(at);
}

}  // namespace

void skip_launch(const char* function) noexcept {
  static Count* const counter = open_counter();
  if (counter) counter->fetch_add(1, std::memory_order_relaxed);
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  char text[320];
  std::snprintf(
      text, sizeof text,
      "%s: kernel launch skipped: results will be missing. The emulator runs kernels of PTX that "
      "the program loads itself (cuModuleLoadData, cuLibraryLoadData). Those of <<<>>>, of "
      "libraries and of machine code answer success and do nothing",
      function);
  note(text);
}

CUresult refuse_without_kernels() noexcept {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    complain(
        "this emulator was built without kernels (CUVMM_KERNELS=OFF): modules and launches answer "
        "CUDA_ERROR_NOT_SUPPORTED");
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

void count_needs_driver(const char* file) noexcept {
  char line[1024];
  const int length = std::snprintf(line, sizeof line, "%.1000s\n", file);
  const int fd = length > 0 ? open_count_file(O_WRONLY | O_APPEND) : -1;
  if (fd < 0) return;
  // A single write, which O_APPEND puts after the lines of other processes.
  sys_pwrite(fd, line, static_cast<std::size_t>(length), sizeof(Count));
  sys_close(fd);
}

}  // namespace cuvmm::emulator
