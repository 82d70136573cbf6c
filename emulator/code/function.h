// SPDX-License-Identifier: Apache-2.0
// Attributes of kernels, by functions (cuFunc*) and by libraries' kernels (cuKernel*).
#pragma once

#include "emulator/core/emulator.h"
#include "emulator/objects/modules.h"

namespace cuvmm::emulator {

/// A kernel of a library may stand for the function that it is in the current context.
/// INVALID_HANDLE for what is neither.
CUresult find_function(Emulator& e, Context& context, CUfunction handle, Function*& function);
CUresult function_attribute(const kernels::KernelCode& code, const Settings& settings,
                            int attribute, int* out);
/// INVALID_VALUE for what cannot be set, and for more shared memory than a block can have.
CUresult set_function_attribute(const kernels::KernelCode& code, Settings& settings, int attribute,
                                int value);
/// NOT_SUPPORTED where the image does not say; INVALID_VALUE behind the last one.
CUresult function_parameter(const kernels::KernelCode& code, std::size_t index, std::size_t* offset,
                            std::size_t* size);
CUresult parameter_count(const kernels::KernelCode& code, std::size_t* count);
/// Blocks of so many threads that a multiprocessor holds at a time.
int active_blocks(const kernels::KernelCode& code, int threads, std::size_t dynamic_shared);

}  // namespace cuvmm::emulator
