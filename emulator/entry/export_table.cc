// SPDX-License-Identifier: Apache-2.0
// cuGetExportTable: of private interfaces, the emulator has one with our own libcudart, and none of
// NVIDIA's.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "emulator/base/life.h"
#include "emulator/base/say.h"
#include "emulator/code/launch.h"
#include "emulator/entry/export.h"
#include "emulator/entry/runtime_table.h"

namespace cuvmm::emulator {

namespace {

// The table that NVIDIA's own runtime library, and nothing else, asks for at start-up.
constexpr unsigned char kNvidiaRuntime[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                              0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

int queue_launch(const char* function, void* stream) {
  return queue_skipped_launch(function, static_cast<CUstream>(stream));
}

constexpr RuntimeTable kOurs{sizeof(RuntimeTable), skip_launch, queue_launch};

bool is(const CUuuid& id, const unsigned char (&known)[16]) {
  return std::memcmp(id.bytes, known, sizeof known) == 0;
}

// Who runs into this may have installed a wheel and never linked anything: says which file it is.
void say_nvidia_runtime(const void* caller) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  Dl_info info{};
  const char* file = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "this program";
  const bool python = std::strstr(file, "/cuda/bindings/") != nullptr;
  char text[1024];
  std::snprintf(
      text, sizeof text,
      "%.500s contains NVIDIA's CUDA runtime, which works with a real driver only. Its cuda* "
      "functions fail here; its calls of the driver (cu*) work. %s",
      file,
      python ? "`cuvmm run --emulate --python` makes cuda.bindings.runtime use the "
               "emulator's libcudart"
             : "The emulator has a libcudart of its own, for programs that use a shared one: "
               "`cuvmm run --emulate` preloads it. A program that you build uses it if you "
               "link it with nvcc -cudart shared");
  complain(text);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGetExportTable, const void** table, const CUuuid* id) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (is(*id, kRuntimeTableId)) {
    *table = &kOurs;
    return CUDA_SUCCESS;
  }
  if (is(*id, kNvidiaRuntime)) say_nvidia_runtime(__builtin_return_address(0));
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace cuvmm::emulator
