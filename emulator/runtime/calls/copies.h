// SPDX-License-Identifier: Apache-2.0
// The kind of a copy decides which function of the driver is called.
#pragma once

#include "emulator/runtime/driver.h"

namespace cuvmm::runtime {

/// cudaMemcpyKind.
enum Kind { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kAny = 4 };

inline bool known(int kind) { return kind >= kHostToHost && kind <= kAny; }
CUmemorytype source_type(int kind);
CUmemorytype target_type(int kind);

/// cudaErrorInvalidMemcpyDirection for a kind that is none. `size` in bytes.
Error copy(const Driver& driver, void* target, const void* source, std::size_t size, int kind);
Error copy_on(const Driver& driver, void* target, const void* source, std::size_t size, int kind,
              CUstream stream);

}  // namespace cuvmm::runtime
