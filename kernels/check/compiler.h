// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::kernels {

/// The compiler in a driver, as far as it decides which texts of PTX it refuses.
struct Compiler {
  unsigned architecture = 0;  ///< 90: it compiles for sm_90; 0: for the GPU's architecture
  unsigned version = 0;       ///< the newest version of PTX that it reads, 900 for 9.0; 0: any
  bool links = false;         ///< other texts may define what this one declares
};

}  // namespace cuvmm::kernels
