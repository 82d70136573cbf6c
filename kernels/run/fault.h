// SPDX-License-Identifier: Apache-2.0
// How a kernel fails.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

namespace cuvmm::kernels {

struct Fault {
  CUresult code = CUDA_SUCCESS;
  std::string what;           ///< a message: the failure, and its address
  std::uint64_t address = 0;  ///< of device memory; 0: the failure has no address
  int line = 0;               ///< of the PTX; 0: no instruction failed
  unsigned block[3] = {}, thread[3] = {};

  explicit operator bool() const { return code != CUDA_SUCCESS; }
};

}  // namespace cuvmm::kernels
