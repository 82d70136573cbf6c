// SPDX-License-Identifier: Apache-2.0
// The answers of the exported functions if there is no driver function to forward to.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// The function that stands in for `name` if the driver has no such symbol. All of them return a
/// CUresult whatever their parameters are, and write nothing:
///   - the driver is there but lacks the symbol: CUDA_ERROR_NOT_FOUND;
///   - there is no driver: CUDA_ERROR_NO_DEVICE, except cuGetErrorName and cuGetErrorString, which
///     programs call to print that very error, and cuDriverGetVersion (SUCCESS, version 0).
void* missing_function(std::string_view name, bool have_driver);

/// Answers CUDA_ERROR_NOT_SUPPORTED, and prints one line the first time.
void* refused_multicast_function();

}  // namespace cuvmm::shim
