// SPDX-License-Identifier: Apache-2.0
// A refused call as the likely reasons see it.
#pragma once

#include <cuda.h>

#include <string_view>
#include <vector>

#include "shim/refusals/arguments/given_argument.h"

namespace cuvmm::shim {

struct RefusedCall {
  std::string_view function;
  CUresult result = CUDA_SUCCESS;
  const std::vector<GivenArgument>& given;
};

}  // namespace cuvmm::shim
