// SPDX-License-Identifier: Apache-2.0
// The shim's state for each thread. One cache line has all that a call reads.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "recorder/last_calls/writer.h"
#include "shim/base/caller.h"

namespace cuvmm::shim {

struct InFlight;

/// How careful a thread has to be with the program's heap and locks.
enum class Care : unsigned char {
  kNone,
  kOwnMemory,     ///< the process ends: memory comes from the shim's reserve (shim/base/reserve.h)
  kAsInterrupted  ///< and a signal may have interrupted any code: the thread uses no heap and no
                  ///< lock of the program
};

/// The function of the CUDA runtime that a thread is in.
struct RuntimeCall {
  const char* name = nullptr;  ///< "cudaIpcOpenMemHandle"; the string lives as long as the process
  Caller caller;               ///< the caller of that function: the program's own code
};

/// The header of each part explains it.
struct alignas(64) ThreadState {
  // Every call reads these.
  InFlight* in_flight = nullptr;  ///< shim/base/in_flight.h
  std::size_t stripe = 0;         ///< shim/base/call_counter.h
  std::uint32_t thread = 0;       ///< the kernel's number of the thread, known once the thread has
                                  ///< a stripe
  bool in_runtime = false;        ///< whether `runtime` has a name
  bool on_own_stack = false;      ///< shim/base/own_stack.h
  Care care = Care::kNone;
  void* stacks = nullptr;              ///< shim/stack/stacks.cc
  last_calls::ThreadPlace call_place;  ///< shim/recorder/recorded_call.h
  int* errno_place = nullptr;
  void* ranges = nullptr;  ///< shim/nvtx/ranges.cc

  RuntimeCall runtime;  ///< shim/base/runtime_call.h; its name is null outside of one

  /// The address of the thread's errno, stored because it never changes and because the call that
  /// returns it costs two cold lines of code.
  int& error() noexcept {
    if (!errno_place) [[unlikely]]
      errno_place = &errno;
    return *errno_place;
  }
};
static_assert(offsetof(ThreadState, runtime) == 64);

// The thread-locals of a preloaded object have a fixed place from the start, so that no call is
// needed to reach them.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local ThreadState t_state{};

}  // namespace cuvmm::shim
