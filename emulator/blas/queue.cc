// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "emulator/blas/blas.h"
#include "emulator/entry/runtime_table.h"

namespace cuvmm::blas {

namespace {

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

const RuntimeTable* find_table(void* library) {
  const auto start = find<decltype(&cuInit)>(library, "cuInit");
  const auto ask = find<decltype(&cuGetExportTable)>(library, "cuGetExportTable");
  if (!start || !ask || start(0) != CUDA_SUCCESS) return nullptr;
  CUuuid id{};
  std::copy(std::begin(kRuntimeTableId), std::end(kRuntimeTableId), id.bytes);
  const void* table = nullptr;
  return ask(&table, &id) == CUDA_SUCCESS ? static_cast<const RuntimeTable*>(table) : nullptr;
}

// Asks the driver again until it gives the table, because a program may fail to initialise the
// driver at first. Takes no lock, because a child of fork might find the lock held; threads that
// ask at once find equal tables.
const RuntimeTable* table() {
  static constinit std::atomic<const RuntimeTable*> known{nullptr};
  if (const RuntimeTable* found = known.load(std::memory_order_acquire)) return found;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);  // never closed
  const RuntimeTable* found = library ? find_table(library) : nullptr;
  known.store(found, std::memory_order_release);
  return found;
}

}  // namespace

Status start() noexcept { return table() ? kSuccess : kNotInitialized; }

bool has_skipped() noexcept {
  const RuntimeTable* found = table();
  return !found || found->has_skipped();
}

Status queue(const char* function, CUstream stream) noexcept {
  const RuntimeTable* found = table();
  if (!found) return kNotInitialized;
  return found->queue_launch(function, stream) == CUDA_SUCCESS ? kSuccess : kExecutionFailed;
}

}  // namespace cuvmm::blas
