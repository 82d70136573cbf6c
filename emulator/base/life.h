// SPDX-License-Identifier: Apache-2.0
// Whether this process can use the driver: before cuInit, usable, forked, or ended.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace cuvmm::emulator {

enum class Phase : std::uint8_t {
  kBefore,  ///< no cuInit has succeeded
  kReady,
  kForked,  ///< a child of a process that was initialised, or in the middle of cuInit: unusable
  kEnded,   ///< exit() has run the driver's own handler
};

/// Every thread reads it without the lock; only cuInit, fork and exit change it.
inline constinit std::atomic<Phase> life{Phase::kBefore};

inline bool ready() { return life.load(std::memory_order_relaxed) == Phase::kReady; }
inline bool ended() { return life.load(std::memory_order_relaxed) == Phase::kEnded; }

/// The error that every call answers in a process that cannot use the driver any more; SUCCESS in
/// other processes.
inline CUresult end_of_life() {
  const Phase phase = life.load(std::memory_order_relaxed);
  if (phase == Phase::kEnded) return CUDA_ERROR_DEINITIALIZED;
  return phase == Phase::kForked ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

/// begin_life() is called once cuInit has succeeded. A driver ends by an exit handler that cuInit
/// registers: on an H200 with driver 580.159.04, every call, a wrong or harmless one too, answers
/// DEINITIALIZED to the destructors of objects made before cuInit (globals of the program, as a
/// rule) and of all libraries. Objects made after cuInit, handlers registered after it,
/// thread-local objects and handlers of quick_exit find the driver usable. Other threads get
/// DEINITIALIZED from the moment at which that handler runs.
void begin_life();

/// Follows forks from now on; `locked()` says whether a thread is inside the driver. Idempotent.
void follow_forks(bool (*locked)());

}  // namespace cuvmm::emulator
