// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, in both its ABIs: a name, a version and flags lead to a symbol of this library.
#include <string_view>

#include "emulator/core/emulator.h"
#include "emulator/core/export.h"

namespace cuvmm::emulator {

// Declared by their symbols alone, because nothing is called through these declarations.
#define CUVMM_PROC_ADDRESS(symbol, query, version, flags) \
  extern "C" void address_of_##symbol() __asm__(#symbol);
#include "emulator/proc_addresses.inc"
#undef CUVMM_PROC_ADDRESS

namespace {

struct ProcAddress {
  std::string_view query;
  int version;
  unsigned flags;
  void (*function)();
};

constexpr ProcAddress kTable[] = {
#define CUVMM_PROC_ADDRESS(symbol, query, version, flags) \
  {#query, version, flags, address_of_##symbol},
#include "emulator/proc_addresses.inc"
#undef CUVMM_PROC_ADDRESS
};

constexpr unsigned kPerThread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

enum class Status { kFound = 0, kNoSymbol = 1, kVersion = 2 };  // as CUdriverProcAddressQueryResult

struct Found {
  void (*function)() = nullptr;
  Status status = Status::kNoSymbol;
};

// The newest ABI that is neither newer than `version` nor than the emulated driver; its per-thread
// form where the flags ask for that and it exists.
Found look_up(std::string_view query, int version, std::uint64_t flags, int driver_version) {
  Found found;
  const ProcAddress* best = nullptr;
  for (const ProcAddress& entry : kTable) {
    if (entry.query != query || entry.version > driver_version) continue;
    if (entry.flags == kPerThread && !(flags & kPerThread)) continue;
    if (found.status == Status::kNoSymbol) found.status = Status::kVersion;
    if (entry.version > version) continue;
    if (!best || entry.flags > best->flags ||
        (entry.flags == best->flags && entry.version > best->version)) {
      best = &entry;
    }
  }
  if (best) found = {best->function, Status::kFound};
  return found;
}

CUresult resolve(const char* symbol, void** out, int version, std::uint64_t flags,
                 int* status) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  constexpr std::uint64_t kKnownFlags = 3;
  if (!symbol || !out || flags > kKnownFlags - 1) return CUDA_ERROR_INVALID_VALUE;
  try {
    *out = nullptr;
    // libcudart asks for the empty name first, and drivers answer SUCCESS.
    if (!*symbol) {
      if (status) *status = static_cast<int>(Status::kFound);
      return CUDA_SUCCESS;
    }
    int driver_version = 0;
    const CUresult known = Emulator::get().driver_version(driver_version);
    if (known != CUDA_SUCCESS) return known;
    const Found found = look_up(symbol, version, flags, driver_version);
    if (status) *status = static_cast<int>(found.status);
    *out = reinterpret_cast<void*>(found.function);
    return found.function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGetProcAddress, const char* symbol, void** out, int version,
                      unsigned long long flags) {
  return resolve(symbol, out, version, flags, nullptr);
}

CUVMM_DRIVER_FUNCTION(cuGetProcAddress_v2, const char* symbol, void** out, int version,
                      unsigned long long flags, int* status) {
  return resolve(symbol, out, version, flags, status);
}

}  // namespace cuvmm::emulator
