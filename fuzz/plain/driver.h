// SPDX-License-Identifier: Apache-2.0
// The functions of libcuda that programs about plain memory call.
#pragma once

#include <cuda.h>

#include <string>

namespace cuvmm::fuzz::plain {

/// CUmemcpyAttributes of CUDA 12.8, which older headers lack.
struct BatchAttributes {
  unsigned order = 0;
  CUmemLocation from{}, to{};
  unsigned flags = 0;
};

/// All functions, or an error. The library stays loaded.
struct Functions {
#define CUVMM_FUNCTION(name) decltype(&::name) name = nullptr;
#include "fuzz/plain/functions.def"
  CUresult (*cuCtxCreate_v2)(CUcontext*, unsigned, CUdevice) = nullptr;
  /// Since CUDA 13.0; null where the driver, or the emulator's headers, are older.
  CUresult (*cuMemcpyBatchAsync_v2)(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes,
                                    std::size_t count, BatchAttributes* attributes,
                                    std::size_t* firsts, std::size_t attribute_count,
                                    CUstream stream) = nullptr;
  std::string error;
};
Functions load_functions(const std::string& path);

}  // namespace cuvmm::fuzz::plain
