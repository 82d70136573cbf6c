// SPDX-License-Identifier: Apache-2.0
// The mistakes in a text of PTX for which the compiler in a driver refuses the whole module. A
// statement that these checks do not know is no mistake: a kernel with it loads, and its launch
// fails.
#pragma once

#include <cuda.h>

#include "kernels/check/compiler.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

struct Verdict {
  CUresult code = CUDA_SUCCESS;
  Error why;
};

/// UNSUPPORTED_PTX_VERSION or INVALID_PTX for the first mistake that is found.
Verdict check(const Module& module, const Compiler& compiler);

}  // namespace cuvmm::kernels
