// SPDX-License-Identifier: Apache-2.0
// The kernels that a program text can name, and how a driver is given them.
#pragma once

#include <cuda.h>

#include <span>

#include "api/driver/driver.h"
#include "api/words.h"

namespace cuvmm::program {

/// Their names, numbered from 0.
std::span<const Word> kernel_words();
/// The kernel of this number; null for a number that is none.
const char* kernel_name(std::uint64_t number);
/// All of them, as PTX that drivers of CUDA 11 compile as well. Each parameter is a word of eight
/// bytes, or a structure of such words. What is an address says so (`.ptr`), but in the structure.
const char* kernel_text();

/// Loads them in the current context, and finds one. The function for that is not in the driver's
/// table: it is looked for in the library that its cuInit is of. NOT_FOUND where it is not there.
CUresult load_kernel(const Driver& driver, const char* name, CUfunction* out);

}  // namespace cuvmm::program
