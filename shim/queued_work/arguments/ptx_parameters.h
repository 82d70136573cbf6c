// SPDX-License-Identifier: Apache-2.0
// The types of kernels' parameters, as PTX declares them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/queued_work/arguments/parameter_types.h"

namespace cuvmm::shim {

/// A kernel's name, and one type for each of its parameters.
using PtxKernel = std::pair<std::string, std::vector<ParameterType>>;

/// Reads each `.entry` of the text. A parameter with `.ptr` is a pointer. A word of 8 bytes without
/// `.ptr` is a number if another parameter of the kernel has `.ptr`, because then the compiler
/// writes it for every pointer; else the word's type is not known (Evidence::kByValue). A text that
/// is no PTX has no kernels. Source: PTX ISA, kernel function parameter attribute .ptr.
std::vector<PtxKernel> kernels_of_ptx(std::string_view text);

/// The text behind a pointer that a program gives a driver as an image without a size: up to its
/// end, if it looks like PTX; else "".
std::string_view ptx_of_image(const void* image);

}  // namespace cuvmm::shim
