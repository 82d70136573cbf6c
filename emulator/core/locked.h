// SPDX-License-Identifier: Apache-2.0
// How an entry point gets access to the emulator: under its one lock, once the emulator is
// initialised.
#pragma once

#include <mutex>
#include <utility>

#include "emulator/core/emulator.h"
#include "emulator/core/stopped.h"

namespace cuvmm::emulator {

/// Runs `body` under the emulator's lock, once cuInit has succeeded; no exception leaves. `entry`
/// is the entry point, for which the profile may have a special answer before cuInit.
template <class Body>
CUresult locked(Body&& body, EntryPoint entry = EntryPoint::kCount) noexcept {
  Emulator& e = Emulator::get();
  try {
    if (!ready()) {
      const CUresult answer = e.unready(entry);
      if (answer != CUDA_SUCCESS) return answer;
    }
    const Passage passage;
    const std::lock_guard lock(e.mutex);
    return body(e);
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;  // the containers of the emulator throw nothing else
  }
}

/// As locked(), for calls that need a context: body(e, context).
template <class Body>
CUresult with_context(Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Context* context = e.current_context();
    if (!context) return e.no_context();
    return context->fault == CUDA_SUCCESS ? body(e, *context) : context->fault;
  });
}

/// As locked(), for calls that need no context, but refuse a context that has ended and is still
/// current.
template <class Body>
CUresult with_no_ended_context(Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult result = e.no_context();
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? result : body(e);
  });
}

}  // namespace cuvmm::emulator
