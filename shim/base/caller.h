// SPDX-License-Identifier: Apache-2.0
// The place from which the program called an intercepted function.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// The place from which the program called an intercepted function: the call's return address, and
/// the stack slot that holds it. Both come from the wrapper's own frame.
struct Caller {
  std::uintptr_t return_address = 0;
  const std::uintptr_t* slot = nullptr;
};

/// The caller of the function that contains this macro, which must not be inlined. On both
/// architectures a frame with a frame pointer has the return address right above the saved one.
#define CUVMM_CALLER                                                                    \
  (::cuvmm::shim::Caller{reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), \
                         static_cast<const std::uintptr_t*>(__builtin_frame_address(0)) + 1})

}  // namespace cuvmm::shim
