// SPDX-License-Identifier: Apache-2.0
// How an entry point gets at the emulator: under its one lock, once it is initialised.
#pragma once

#include <mutex>
#include <utility>

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// Runs `body` under the emulator's lock, once cuInit has succeeded; no exception leaves. `entry`
/// is the entry point, where the profile may have an answer of its own for calls before cuInit.
template <class Body>
CUresult locked(Body&& body, EntryPoint entry = EntryPoint::kCount) noexcept {
  Emulator& e = Emulator::get();
  try {
    if (!ready()) {
      const CUresult answer = e.unready(entry);
      if (answer != CUDA_SUCCESS) return answer;
    }
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

/// As locked(), for calls that need no context, but refuse one that has ended and is still current.
template <class Body>
CUresult with_no_ended_context(Body&& body) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const CUresult result = e.no_context();
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED ? result : body(e);
  });
}

}  // namespace cuvmm::emulator
