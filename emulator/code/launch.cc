// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/launch.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "emulator/base/run_file.h"
#include "emulator/base/say.h"
#include "emulator/base/system.h"

namespace cuvmm::emulator {

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free && sizeof(Count) == sizeof(std::uint64_t));

// Maps the count, so that the count of a process that is killed survives. Null where no run wants a
// count.
Count* open_counter() noexcept {
  void* at = MAP_FAILED;
  const int fd = open_run_file(O_RDWR);
  if (fd >= 0) {
    at = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sys_close(fd);
  }
  return at == MAP_FAILED ? nullptr : static_cast<Count*>(at);
}

}  // namespace

namespace {
std::atomic<bool> g_skipped{false};
}

bool has_skipped() noexcept { return g_skipped.load(std::memory_order_relaxed); }

void skip_launch(const char* function) noexcept {
  static Count* const counter = open_counter();
  if (counter) counter->fetch_add(1, std::memory_order_relaxed);
  if (g_skipped.exchange(true)) return;
  char text[320];
  std::snprintf(text, sizeof text,
                "%s: kernel launch skipped: results will be missing. The emulator runs kernels "
                "that come with "
                "PTX, as nvcc's do unless -arch or -gencode leaves it out. Those of machine code "
                "alone, and of "
                "libraries that cuvmm stands in for, answer success and do nothing",
                function);
  note(text);
}

CUresult refuse_without_kernels() noexcept {
  static std::atomic<bool> printed{false};
  if (!printed.exchange(true)) {
    complain(
        "this emulator was built without kernels (CUVMM_KERNELS=OFF): modules and launches answer "
        "CUDA_ERROR_NOT_SUPPORTED");
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

void count_needs_driver(const char* file) noexcept { tell_run(file); }

}  // namespace cuvmm::emulator
