// SPDX-License-Identifier: Apache-2.0
// The descriptor under which an allocation travels between processes: a sealed memfd whose last
// page describes it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace cuvmm::emulator {

/// The kind of object that the file holds. The trailer contains it, so that a pool is not taken for
/// memory. A file of kind kTeam holds only the ticket of a team.
enum class ShareableKind : std::uint8_t { kMemory, kPool, kEvent, kTeam };

/// The contents of a descriptor from another process, after the check.
struct Shareable {
  std::uint64_t size = 0;      ///< bytes of the allocation, without the trailer
  CUmemAllocationProp prop{};  ///< where it lives; requestedHandleTypes is 0, as drivers report it
  bool own_host = true;        ///< a process of this host made it
};

/// Whether `fd` is a memfd on which a mapping or a write cannot fail later: it is in ordinary
/// memory (a file of huge pages raises SIGBUS where no huge page is left), its size and its seals
/// are fixed for ever, its data is writable, and it is opened for reading and writing.
bool is_fixed_memfd(int fd);

/// A new memfd of `size` bytes of zeroes and the trailer, its size sealed; -1 on failure.
int create_shareable(std::uint64_t size, const CUmemAllocationProp& prop,
                     ShareableKind kind = ShareableKind::kMemory);

/// Which hosts of a rack may have made a file. Descriptors and IPC handles do not leave their host.
enum class Hosts : std::uint8_t { kOwn, kAny };

/// Checks every property of `fd`, because a hostile process may have chosen every byte: its kind,
/// its seals, its size, the trailer. Nothing when create_shareable did not make it.
std::optional<Shareable> read_shareable(int fd, int device_count,
                                        ShareableKind kind = ShareableKind::kMemory,
                                        Hosts hosts = Hosts::kOwn);

}  // namespace cuvmm::emulator
