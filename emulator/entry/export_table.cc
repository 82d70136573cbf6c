// SPDX-License-Identifier: Apache-2.0
// cuGetExportTable: the only private interface of the emulator is the one for its own libcudart; it
// has none of NVIDIA's.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "emulator/base/life.h"
#include "emulator/base/say.h"
#include "emulator/code/launch.h"
#include "emulator/core/export.h"
#include "emulator/entry/runtime_table.h"

namespace cuvmm::emulator {

namespace {

// A table of NVIDIA's driver that its callers cannot work without.
struct Needed {
  unsigned char id[16];
  const char* what;  // describes the calling file
};
constexpr Needed kNeeded[] = {
    // Only NVIDIA's own runtime library asks for it, at start-up.
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9},
     "contains NVIDIA's CUDA runtime, which works with a real driver only, and no symbol table by "
     "which the emulator could put its own in the place. Its cuda* functions fail here; its calls "
     "of the driver (cu*) work"},
    // cuFFT 12 was observed to ask for it before anything else.
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2},
     "needs a private interface of NVIDIA's driver, and fails without it"},
};

int queue_launch(const char* function, void* stream) {
  return queue_skipped_launch(function, static_cast<CUstream>(stream));
}

constexpr RuntimeTable kRuntimeTable{sizeof(RuntimeTable), skip_launch, queue_launch, is_kernel,
                                     has_skipped};

bool is(const CUuuid& id, const unsigned char (&known)[16]) {
  return std::memcmp(id.bytes, known, sizeof known) == 0;
}

// A program, and libraries that it uses (cuFFT, NCCL), may each contain a copy of the runtime.
constexpr std::size_t kMostRuntimes = 8;

// Whether this is the first report of this object. False when the table is full.
bool first_time(void* object) {
  static std::atomic<void*> printed[kMostRuntimes];
  for (std::atomic<void*>& one : printed) {
    void* known = nullptr;
    if (one.compare_exchange_strong(known, object)) return true;
    if (known == object) return false;
  }
  return false;
}

const char* way_out(const char* file) {
  if (std::strstr(file, "/cuda/bindings/")) {
    return "`cuvmm run --emulate --python` makes cuda.bindings.runtime use the emulator's "
           "libcudart";
  }
  // A user cannot rebuild NVIDIA's libraries.
  for (const char* name : {"libcufft", "libcurand", "libcusolver", "libcusparse", "libcublas",
                           "libnccl", "libnpp", "libcudnn"}) {
    if (std::strstr(file, name)) return "Its results can be tested on a GPU only";
  }
  return "If you build it yourself, leave its symbols (no `strip`, no `-s`). Or link a shared "
         "libcudart: set NVCC_APPEND_FLAGS=\"-cudart shared\" for nvcc, or give CMake "
         "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared";
}

// Reports the file that asks, because a user who only installed a wheel never linked anything.
void say_needed(const char* what, const void* caller) {
  Dl_info info{};
  const bool known = dladdr(caller, &info) && info.dli_fname;
  if (!first_time(known ? info.dli_fbase : const_cast<void*>(caller))) return;
  const char* file = known ? info.dli_fname : "this program";
  char text[1024];
  std::snprintf(text, sizeof text, "%.500s %s. %s", file, what, way_out(file));
  complain(text);
  count_needs_driver(file);
}

CUresult find_table(const void** table, const CUuuid* id, const void* caller) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (is(*id, kRuntimeTableId)) {
    *table = &kRuntimeTable;
    return CUDA_SUCCESS;
  }
  for (const Needed& table_of : kNeeded) {
    if (is(*id, table_of.id)) say_needed(table_of.what, caller);
  }
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace

// Does not use CUVMM_DRIVER_FUNCTION, because the caller's address must be read in the exported
// function itself.
extern "C" __attribute__((visibility("default"))) CUresult emulated_cuGetExportTable(
    const void** table, const CUuuid* id) __asm__("cuGetExportTable");
extern "C" CUresult emulated_cuGetExportTable(const void** table, const CUuuid* id) {
  return logged("cuGetExportTable", find_table(table, id, __builtin_return_address(0)));
}

}  // namespace cuvmm::emulator
