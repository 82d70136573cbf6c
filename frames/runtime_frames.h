// SPDX-License-Identifier: Apache-2.0
// The frames of the CUDA runtime at the inner end of a stack: which of its functions the program
// called. This costs a call nothing, other than a wrapper of that function (runtime_twins.def).
#pragma once

#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// Whether the frame is one of a CUDA runtime: of a shared libcudart, of the inside of a static
/// one, or of a template in the runtime's headers.
bool of_cuda_runtime(const Frame& frame);

/// "cudaFree": the function by which the stack enters the runtime. Its frames go, as the program's
/// call of it is where the user's stack begins. Empty, and nothing goes, where the innermost frame
/// is none of the runtime's, where the function has no name of the CUDA runtime, or where nothing
/// is known of what called it.
std::string take_runtime_frames(std::vector<Frame>& frames);

}  // namespace cuvmm::frames
