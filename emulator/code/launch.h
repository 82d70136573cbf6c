// SPDX-License-Identifier: Apache-2.0
// Launches of kernels that cannot be run: there is no PTX of them.
#pragma once

#include <cuda.h>

namespace cuvmm::emulator {

/// Says so on stderr, the first time, and counts it: in this process, and in the file of
/// CUVMM_LAUNCH_COUNT, eight bytes that all processes of a run add to. `function` names what the
/// program called.
void skip_launch(const char* function) noexcept;

/// A launch that is skipped when its turn comes: on `stream` of the current context, or with each
/// launch of the graph that the stream captures.
CUresult queue_skipped_launch(const char* function, CUstream stream) noexcept;

/// NOT_SUPPORTED, as a build without kernels answers modules and launches; says so on stderr, once.
CUresult refuse_without_kernels() noexcept;

/// Says to the run that this file needs a real driver (a CUDA runtime of NVIDIA's is in it): a line
/// behind the number in the file of CUVMM_LAUNCH_COUNT.
void count_needs_driver(const char* file) noexcept;

}  // namespace cuvmm::emulator
