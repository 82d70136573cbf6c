// SPDX-License-Identifier: Apache-2.0
// Launches of kernels that cannot run because the emulator has no PTX of them.
#pragma once

#include <cuda.h>

namespace cuvmm::emulator {

/// Counts a skipped launch: in this process, and in the file of CUVMM_LAUNCH_COUNT, eight bytes
/// that all processes of a run add to. The first one is reported on stderr. `function` names the
/// function that the program called.
void skip_launch(const char* function) noexcept;

/// Whether skip_launch() was called in this process.
bool has_skipped() noexcept;

/// Queues a launch that is skipped in its turn: on `stream` of the current context, or in each
/// launch of the graph that the stream captures.
CUresult queue_skipped_launch(const char* function, CUstream stream) noexcept;

/// Whether this is the handle of a function or a kernel, of the present or the past.
bool is_kernel(const void* handle) noexcept;

/// NOT_SUPPORTED, the answer to modules and launches in a build without kernels; reports it once on
/// stderr.
CUresult refuse_without_kernels() noexcept;

/// Reports to the run that this file needs a real driver, because it contains a CUDA runtime of
/// NVIDIA's: appends a line after the number in the file of CUVMM_LAUNCH_COUNT.
void count_needs_driver(const char* file) noexcept;

}  // namespace cuvmm::emulator
