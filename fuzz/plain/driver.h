// The functions of a libcuda that programs about plain memory call.
#pragma once

#include <cuda.h>

#include <string>

namespace cuvmm::fuzz::plain {

/// All of them, or an error. The library stays loaded.
struct Functions {
#define CUVMM_FUNCTION(name) decltype(&::name) name = nullptr;
#include "fuzz/plain/functions.def"
  CUresult (*cuCtxCreate_v2)(CUcontext*, unsigned, CUdevice) = nullptr;
  std::string error;
};
Functions load_functions(const std::string& path);

}  // namespace cuvmm::fuzz::plain
