// SPDX-License-Identifier: Apache-2.0
// Plain memory: memory that one call makes and one call ends, without a reservation, a handle or a
// pool.
#pragma once

#include <cstdint>

#include "rulebook/base/violation.h"

namespace cuvmm {

struct PlainMemory {
  enum class Kind : std::uint8_t {
    kDevice,      ///< cuMemAlloc
    kPitched,     ///< cuMemAllocPitch
    kManaged,     ///< cuMemAllocManaged
    kHost,        ///< cuMemAllocHost, cuMemHostAlloc
    kRegistered,  ///< the program's own memory, registered by cuMemHostRegister
  };
  std::uint64_t base = 0;
  std::uint64_t size = 0;     ///< bytes
  std::uint64_t context = 0;  ///< the context in which it was made; 0 unknown
  int device = -1;            ///< of that context; -1 unknown
  Kind kind = Kind::kDevice;
  Origin made;

  /// Whether cuMemFree and cuMemFreeAsync end it.
  bool freed_as_device() const { return kind <= Kind::kManaged; }
  /// Whether the memory ends with its context. The documentation does not say so of the program's
  /// own memory.
  bool ends_with_context() const { return kind != Kind::kRegistered; }
};

/// "memory of cuMemAlloc", "registered memory", ...
const char* words(PlainMemory::Kind kind);

}  // namespace cuvmm
