// SPDX-License-Identifier: Apache-2.0
// Attributes of kernels, by functions (cuFunc*) and by libraries' kernels (cuKernel*).
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/core/locked.h"
#include "emulator/objects/modules.h"

namespace cuvmm::emulator {

/// Finds a function's handle. A handle of a library's kernel is also accepted; it stands for the
/// kernel's function in the current context. INVALID_HANDLE for any other handle.
CUresult find_function(Emulator& e, Context& context, CUfunction handle, Function*& function);
CUresult function_attribute(const kernels::KernelCode& code, const Settings& settings,
                            int attribute, int* out);
/// INVALID_VALUE for an attribute that cannot be set, and for more shared memory than a block can
/// have.
CUresult set_function_attribute(const kernels::KernelCode& code, Settings& settings, int attribute,
                                int value);
/// NOT_SUPPORTED where the image does not describe its parameters; INVALID_VALUE for an index after
/// the last one.
CUresult function_parameter(const kernels::KernelCode& code, std::size_t index, std::size_t* offset,
                            std::size_t* size);
CUresult parameter_count(const kernels::KernelCode& code, std::size_t* count);
/// Runs body(function) under the lock, in the current context.
template <class Body>
CUresult on_function(CUfunction handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    Function* function = nullptr;
    const CUresult found = find_function(e, context, handle, function);
    return found == CUDA_SUCCESS ? body(*function) : found;
  });
}

}  // namespace cuvmm::emulator
