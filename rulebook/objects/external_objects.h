// SPDX-License-Identifier: Apache-2.0
// External memory, the buffers and arrays that show it, and external semaphores.
#pragma once

#include <cstdint>
#include <optional>

#include "rulebook/base/violation.h"

namespace cuvmm {

/// Numbers of CUexternalMemoryHandleType and CUexternalSemaphoreHandleType that the checks compare;
/// older headers lack the newer enumerators.
namespace external_type {
inline constexpr unsigned kOpaqueFd = 1;
inline constexpr unsigned kD3d12Resource = 5;
inline constexpr unsigned kD3d11ResourceKmt = 7;
inline constexpr unsigned kNvSciBuf = 8;
inline constexpr unsigned kDmaBufFd = 9;
inline constexpr unsigned kLastMemory = 9;
inline constexpr unsigned kNvSciSync = 6;
inline constexpr unsigned kTimelineFd = 9;
inline constexpr unsigned kLastSemaphore = 10;
}  // namespace external_type

/// A memory object of another API, as cuImportExternalMemory knows it. Sizes in bytes.
struct ExternalMemory {
  std::uint64_t handle = 0;
  unsigned type = 0;              ///< CUexternalMemoryHandleType
  std::uint64_t size = 0;         ///< as the import states it
  std::uint64_t object_size = 0;  ///< the true size of the object, 0 unknown
  bool dedicated = false;         ///< imported with CUDA_EXTERNAL_MEMORY_DEDICATED
  int device = -1;                ///< of the context that imported it; -1 unknown
  std::uint64_t context = 0;      ///< that context, 0 unknown
  Origin made;
};

/// [base, base + size) shows a part of an external memory. The buffer outlives the external memory.
struct ExternalBuffer {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;   ///< in the external memory
  std::uint64_t memory = 0;   ///< handle of the external memory, which may be destroyed
  int device = -1;            ///< of the context that imported the external memory; -1 unknown
  std::uint64_t context = 0;  ///< that context, 0 unknown
  bool memory_ended = false;  ///< `ended` destroyed the external memory
  Origin made;
  Origin ended;
};

struct ExternalSemaphore {
  std::uint64_t handle = 0;
  unsigned type = 0;            ///< CUexternalSemaphoreHandleType
  std::uint64_t signalled = 0;  ///< for a timeline: the greatest value that this process signalled
  bool any_signal = false;
  int device = -1;            ///< of the context that imported it; -1 unknown
  std::uint64_t context = 0;  ///< that context, 0 unknown
  Origin made;
};

/// The external object that a call ended; at most one is set.
struct ExternalRetired {
  std::optional<ExternalMemory> memory;
  std::optional<ExternalBuffer> buffer;
  std::optional<ExternalSemaphore> semaphore;
};

}  // namespace cuvmm
