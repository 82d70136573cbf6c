// SPDX-License-Identifier: Apache-2.0
// The descriptor under which an allocation travels between processes: a sealed memfd whose last
// page says what it is.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace cuvmm::emulator {

/// What the file is. It stands in the trailer, so that a pool is no memory.
enum class ShareableKind : std::uint8_t { kMemory, kPool, kEvent, kEndpoint };

/// What a descriptor from another process was found to hold.
struct Shareable {
  std::uint64_t size = 0;      ///< bytes of the allocation, without the trailer
  CUmemAllocationProp prop{};  ///< where it lives; requestedHandleTypes is 0, as drivers report it
};

/// Whether `fd` is a memfd on which a mapping or a write cannot fail later: in ordinary memory (one
/// of huge pages raises SIGBUS where none is left), its size and its seals fixed for ever, data
/// writable, opened for reading and writing.
bool is_fixed_memfd(int fd);

/// A new memfd of `size` bytes of zeroes and the trailer, its size sealed; -1 on failure.
int create_shareable(std::uint64_t size, const CUmemAllocationProp& prop,
                     ShareableKind kind = ShareableKind::kMemory);

/// Checks everything about `fd`, whose every byte may come from a hostile process: its kind, its
/// seals, its size, the trailer. Nothing when it is not what create_shareable made.
std::optional<Shareable> read_shareable(int fd, int device_count,
                                        ShareableKind kind = ShareableKind::kMemory);

}  // namespace cuvmm::emulator
