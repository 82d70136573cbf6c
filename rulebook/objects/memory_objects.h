// SPDX-License-Identifier: Apache-2.0
// Plain memory: what one call makes and one call ends, without a reservation, a handle or a pool.
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
    kRegistered,  ///< the program's own, by cuMemHostRegister
  };
  std::uint64_t base = 0;
  std::uint64_t size = 0;     ///< bytes
  std::uint64_t context = 0;  ///< in which it was made; 0 unknown
  int device = -1;            ///< of that context; -1 unknown
  Kind kind = Kind::kDevice;
  Origin made;

  /// cuMemFree and cuMemFreeAsync end it.
  bool freed_as_device() const { return kind <= Kind::kManaged; }
  /// Whether it ends with its context, by the documentation: the program's own memory is not named.
  bool ends_with_context() const { return kind != Kind::kRegistered; }
};

/// "memory of cuMemAlloc", "registered memory", ...
const char* words(PlainMemory::Kind kind);

}  // namespace cuvmm
