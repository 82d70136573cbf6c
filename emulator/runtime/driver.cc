// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace cuvmm::runtime {

namespace {

// Per-thread default streams came with CUDA 7.0.
constexpr int kPerThreadSince = 7000;

struct Opened {
  Driver tables[2];
  Error error = cudaErrorInsufficientDriver;
};

void fill(Driver& driver, PFN_cuGetProcAddress_v12000 ask, Streams streams) {
  const bool per_thread = streams == Streams::kPerThread;
  const cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                      : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  const auto find = [&](const char* name, int version) {
    void* function = nullptr;
    const int asked = per_thread ? std::max(version, kPerThreadSince) : version;
    return ask(name, &function, asked, flags, nullptr) == CUDA_SUCCESS ? function : nullptr;
  };
  driver.ask = ask;
#define CUVMM_DRIVER(name, version) \
  driver.name = reinterpret_cast<PFN_##name##_v##version>(find(#name, version));
#define CUVMM_DRIVER_ABI(Entry, name, version) \
  driver.Entry = reinterpret_cast<calls::Entry::Function>(find(#name, version));
#include "emulator/runtime/driver_functions.def"
#undef CUVMM_DRIVER
#undef CUVMM_DRIVER_ABI
}

Opened open() {
  Opened opened;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return opened;
  const auto ask =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (!ask) return opened;
  fill(opened.tables[0], ask, Streams::kLegacy);
  fill(opened.tables[1], ask, Streams::kPerThread);
  const Driver& driver = opened.tables[0];
  if (driver.cuInit) opened.error = error_of(driver.cuInit(0));
  return opened;
}

}  // namespace

const Driver* driver_for(Streams streams, Error& error) {
  // Never closed, because other threads may still call it. Takes no lock, because a child of fork
  // might find the lock held by a thread that does not exist there. Threads that come at once all
  // open the library, and one of their tables stays.
  static constinit std::atomic<const Opened*> shared{nullptr};
  const Opened* opened = shared.load(std::memory_order_acquire);
  if (!opened) {
    auto mine = std::make_unique<const Opened>(open());
    if (shared.compare_exchange_strong(opened, mine.get())) opened = mine.release();
  }
  error = opened->error;
  return error == cudaSuccess ? &opened->tables[static_cast<int>(streams)] : nullptr;
}

}  // namespace cuvmm::runtime
