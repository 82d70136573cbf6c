// SPDX-License-Identifier: Apache-2.0
// Finds the function of the CUDA runtime that the program called, in the runtime's frames at the
// inner end of a stack. This costs a call nothing, unlike a wrapper of that function
// (runtime_twins.def).
#pragma once

#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// Whether the frame belongs to a CUDA runtime: to a shared libcudart, to the inside of a static
/// runtime, to a template in the runtime's headers, or to nvcc's stub of a kernel.
bool of_cuda_runtime(const Frame& frame);

/// "cudaFree": the function by which the stack enters the runtime; for a launch by nvcc's syntax
/// "kernel<<<>>>", and then nvcc's functions for the kernel count as the runtime's. The runtime's
/// frames are removed, because the user's stack begins at the program's call of that function.
/// Returns "" and removes nothing where the innermost frame is not the runtime's, where the
/// function has no name of the CUDA runtime, or where the stack ends before the function's caller.
std::string take_runtime_frames(std::vector<Frame>& frames);

}  // namespace cuvmm::frames
