// SPDX-License-Identifier: Apache-2.0
// How a kernel ends that goes wrong.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

namespace cuvmm::kernels {

struct Fault {
  CUresult code = CUDA_SUCCESS;
  std::string what;           ///< for people: what happened, to which address
  std::uint64_t address = 0;  ///< of device memory; 0: it went wrong otherwise
  int line = 0;               ///< of the PTX; 0: at no instruction
  unsigned block[3] = {}, thread[3] = {};

  explicit operator bool() const { return code != CUDA_SUCCESS; }
};

}  // namespace cuvmm::kernels
