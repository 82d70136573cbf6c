// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "emulator/base/say.h"
#include "emulator/context/capture.h"
#include "emulator/entry/entry.h"
#include "emulator/entry/export.h"
#include "emulator/machine/system.h"

namespace cuvmm::emulator {

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free && sizeof(Count) == sizeof(std::uint64_t));

// The counter that `cuvmm run` reads when the last process has ended; by a mapping, so that a
// process that is killed has counted what it did. Null where nobody asked.
Count* open_counter() noexcept {
  const char* path = secure_getenv("CUVMM_LAUNCH_COUNT");
  if (!path || !*path) return nullptr;
  const int fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat status {};
  void* at = MAP_FAILED;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 8) {
    at = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  sys_close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Count*>(at);
}

struct Shape {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z;

  /// Whether a GPU of the emulated kind can have such a grid.
  bool possible() const {
    constexpr unsigned kGridX = 0x7fffffff, kGrid = 65535, kBlock = 1024, kBlockZ = 64;
    const bool empty = !grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z;
    return !empty && grid_x <= kGridX && grid_y <= kGrid && grid_z <= kGrid && block_x <= kBlock &&
           block_y <= kBlock && block_z <= kBlockZ && block_x * block_y * block_z <= kBlock;
  }
};

CUresult skip(const char* entry, CUfunction function, const Shape& shape,
              CUstream stream) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!shape.possible()) return CUDA_ERROR_INVALID_VALUE;
    if (Captures::any()) {
      if (const auto captured = captured_launch(e, entry, stream)) return *captured;
    }
    skip_launch(entry);
    return CUDA_SUCCESS;
  });
}

}  // namespace

void skip_launch(const char* function) noexcept {
  static Count* const counter = open_counter();
  if (counter) counter->fetch_add(1, std::memory_order_relaxed);
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  char text[192];
  std::snprintf(text, sizeof text,
                "%s: kernel launch skipped: results will be missing. The emulator runs no kernels: "
                "this launch and all others answer success",
                function);
  note(text);
}

// Shared bytes and parameters are for the kernel alone.
CUVMM_DRIVER_FUNCTION(cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                      unsigned, CUstream stream, void**, void**) {
  return skip("cuLaunchKernel", function, {grid_x, grid_y, grid_z, block_x, block_y, block_z},
              stream);
}
CUVMM_DRIVER_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

CUVMM_DRIVER_FUNCTION(cuLaunchCooperativeKernel, CUfunction function, unsigned grid_x,
                      unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned, CUstream stream, void**) {
  return skip("cuLaunchCooperativeKernel", function,
              {grid_x, grid_y, grid_z, block_x, block_y, block_z}, stream);
}
CUVMM_DRIVER_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

CUVMM_DRIVER_FUNCTION(cuLaunchKernelEx, const CUlaunchConfig* config, CUfunction function, void**,
                      void**) {
  constexpr Shape kNone{};
  const Shape shape = config ? Shape{config->gridDimX,  config->gridDimY,  config->gridDimZ,
                                     config->blockDimX, config->blockDimY, config->blockDimZ}
                             : kNone;
  return skip("cuLaunchKernelEx", function, shape, config ? config->hStream : nullptr);
}
CUVMM_DRIVER_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

// No profiler is attached, as for most programs that call these.
extern "C" __attribute__((visibility("default"))) CUresult emulated_cuProfilerStart() __asm__(
    "cuProfilerStart");
extern "C" CUresult emulated_cuProfilerStart() {
  return with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
}
CUVMM_DRIVER_ALIAS(cuProfilerStop, cuProfilerStart);

}  // namespace cuvmm::emulator
