// SPDX-License-Identifier: Apache-2.0
// The kernels that nvcc's start-up code registers before main, and the GPUs that their code is for.
#pragma once

namespace cuvmm::runtime {

/// `wrapper`: the object in the program's image that names a fat binary. Returns its handle, which
/// is never null.
void** register_binary(const void* wrapper) noexcept;
/// `function`: the address by which the program names the kernel.
void register_function(void** binary, const void* function) noexcept;

/// The code of a kernel that a GPU would run. Versions are ten times the major compute capability
/// plus the minor one; 0: not known.
struct CodeVersion {
  int ptx = 0;     ///< of the PTX, or of the PTX that the machine code was compiled from
  int binary = 0;  ///< of the machine code
};
CodeVersion code_version(const void* function, int gpu) noexcept;

}  // namespace cuvmm::runtime
