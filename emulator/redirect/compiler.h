// SPDX-License-Identifier: Apache-2.0
// The compiler at run time (NVRTC), in a process whose kernels run from their PTX.
#pragma once

#include <link.h>

namespace cuvmm::redirect {

/// Makes libnvrtc give a program its PTX where the program wants machine code, which the emulator
/// cannot run. NVRTC has both after a compilation for a GPU (`-arch=sm_90`). Repeated calls change
/// nothing more; other objects stay as they are.
void redirect_compiler(const link_map& object);

}  // namespace cuvmm::redirect
