// SPDX-License-Identifier: Apache-2.0
// Nouns for the objects that a process holds, in the singular, for counted()
// (recorder/holdings/counted.h).
#pragma once

#include "recorder/holdings/format.h"

namespace cuvmm::holdings {

inline const char* words(Piece::Kind kind) {
  using K = Piece::Kind;
  switch (kind) {
    case K::kDevice:
      return "piece of cuMemAlloc";
    case K::kManaged:
      return "piece of managed memory";
    case K::kHost:
      return "piece of page-locked host memory";
    case K::kRegistered:
      return "registered range of host memory";
    case K::kPool:
      return "piece of pool memory";
    case K::kIpc:
      return "open of IPC memory";
    case K::kCount:
      break;
  }
  return "?";
}

inline const char* words(Descriptor::Kind kind) {
  using K = Descriptor::Kind;
  if (kind == K::kReceived) return "received descriptor of imported memory";
  return kind == K::kDmaBuf ? "descriptor of a dma-buf" : "exported descriptor";
}

inline const char* words(const MemoryHeld& held) {
  if (held.allocation.multicast) return "multicast object";
  return held.allocation.imported ? "imported allocation" : "allocation of cuMemCreate";
}

/// Memory of an allocation node, which a launch of its graph left allocated.
inline constexpr const char* kGraphMemoryWords = "piece of graph memory";
inline constexpr const char* kReservationWords = "reservation";
inline constexpr const char* kEmptyReservationWords = "empty reservation";

}  // namespace cuvmm::holdings
