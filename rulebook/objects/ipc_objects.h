// SPDX-License-Identifier: Apache-2.0
// Objects of legacy IPC: handles that this process made, and memory that it opened.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "rulebook/base/violation.h"

namespace cuvmm {

/// The 64 bytes of a CUipcMemHandle or a CUmemPoolPtrExportData. cuvmm only compares them.
using IpcBytes = std::array<unsigned char, 64>;

template <class Blob>
IpcBytes ipc_bytes(const Blob& blob) {
  static_assert(sizeof blob == sizeof(IpcBytes));
  IpcBytes bytes;
  std::memcpy(bytes.data(), &blob, sizeof bytes);
  return bytes;
}

/// A handle that this process got for memory of its own, as long as cuvmm has not seen the memory's
/// free.
struct IpcExport {
  IpcBytes bytes{};
  std::uint64_t base = 0;  ///< of the allocation; if unknown, the pointer that the program gave
  Origin made;             ///< the first cuIpcGetMemHandle
};

/// Memory of another process that this process opened: one pointer and all opens that returned it.
struct IpcOpen {
  std::uint64_t pointer = 0;
  std::uint64_t size = 0;  ///< bytes; 0 unknown
  IpcBytes bytes{};
  std::uint64_t context = 0;  ///< the context that opened it; 0 unknown
  int device = -1;            ///< of that context; -1 unknown
  std::uint32_t count = 0;    ///< opens minus closes
  std::uint32_t opens = 0;    ///< number of opens ever
  Origin made;
  Origin reopened;  ///< the last open that returned the same pointer again
  Origin closed;    ///< the last close
};

}  // namespace cuvmm
