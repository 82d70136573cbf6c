// SPDX-License-Identifier: Apache-2.0
// Why a driver refuses device code, or a name in it: facts that are read from the file, the image
// and the driver's list of names.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// The code that a refused call was given: a file or an image in memory.
struct CodeInput {
  const char* path = nullptr;
  const void* image = nullptr;
  std::size_t size = 0;  ///< the image's bytes; 0: the call does not say
};

/// Where the code shall run.
struct CodeTarget {
  int device = -1;     ///< -1: not known
  int capability = 0;  ///< 90 for sm_90; 0: not known
  int cuda = 0;        ///< the driver's CUDA version, 13000 for 13.0; 0: not known
};

/// A sentence about the code of a call that answered `result`; "" if nothing is known to be wrong
/// with it. Reads memory only where the kernel says that it is readable. Throws std::bad_alloc.
std::string code_facts(const CodeInput& code, const CodeTarget& target, CUresult result);

/// Reads the beginning of an image, as far as the kernel can read it; returns the bytes read.
std::size_t read_code(const void* image, std::span<unsigned char> to);

/// A sentence about a name that code does not have. `what`: "kernel" or "variable". `kernels`: the
/// kernels that the code has. Throws std::bad_alloc.
std::string name_facts(std::string_view name, std::string_view what,
                       const std::vector<std::string>& kernels);

}  // namespace cuvmm::shim
