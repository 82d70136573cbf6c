// SPDX-License-Identifier: Apache-2.0
// The frames of a shared libcudart at the inner end of a stack: which of its functions the program
// called. This costs a call nothing, other than a wrapper of that function (runtime_twins.def).
#pragma once

#include <string>
#include <vector>

#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// "cudaFree": the function by which the stack enters libcudart. Its frames go, as the program's
/// call of it is where the user's stack begins. Empty, and nothing goes, where the innermost frame
/// is none of libcudart's, or the function has no name of the CUDA runtime.
std::string take_runtime_frames(std::vector<Frame>& frames);

}  // namespace cuvmm::shim
