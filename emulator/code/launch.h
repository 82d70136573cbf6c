// SPDX-License-Identifier: Apache-2.0
// Launches of kernels that cannot be run: there is no PTX of them.
#pragma once

namespace cuvmm::emulator {

/// Says so on stderr, the first time, and counts it: in this process, and in the file of
/// CUVMM_LAUNCH_COUNT, eight bytes that all processes of a run add to. `function` names what the
/// program called.
void skip_launch(const char* function) noexcept;

}  // namespace cuvmm::emulator
