// SPDX-License-Identifier: Apache-2.0
// The kernels that a program text can name, and their way into a driver.
#pragma once

#include <cuda.h>

#include <span>

#include "api/driver/driver.h"
#include "api/words.h"

namespace cuvmm::program {

/// The names of the kernels, numbered from 0.
std::span<const Word> kernel_words();
/// The kernel with this number; null if there is none.
const char* kernel_name(std::uint64_t number);
/// All kernels as PTX that drivers of CUDA 11 also compile. Each parameter is a word of eight
/// bytes, or a structure of such words. A parameter that is an address is declared so (`.ptr`),
/// except in the structure.
const char* kernel_text();

/// Loads the kernels in the current context, and finds one. The driver's table lacks the functions
/// for this, so load_kernel() looks for them in the library of the table's cuInit. NOT_FOUND if
/// that library lacks them.
CUresult load_kernel(const Driver& driver, const char* name, CUfunction* out);

}  // namespace cuvmm::program
