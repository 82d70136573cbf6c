// SPDX-License-Identifier: Apache-2.0
// The code that nvcc's start-up code registers before main: fat binaries, and the kernels and
// variables in them, by the addresses that the program names them by. A fat binary is loaded at the
// first use of something in it.
#pragma once

#include <cstddef>

#include "emulator/runtime/driver.h"

namespace cuvmm::runtime {

/// `wrapper`: the object in the program's image that names a fat binary. Returns its handle, which
/// is never null.
void** register_binary(const void* wrapper) noexcept;
/// Ends a binary's code, kernels and variables.
void unregister_binary(void** binary) noexcept;
/// `function`: the address by which the program names the kernel. Names last as long as the binary.
void register_function(void** binary, const void* function, const char* name) noexcept;
/// `variable`: the address by which the program names a device's variable of `size` bytes.
void register_variable(void** binary, const void* variable, const char* name) noexcept;
/// `pointer`: in the program's image; receives the address of a managed variable.
void register_managed(void** binary, void** pointer, const char* name) noexcept;

/// The kernel of a function; null, and success, for a function that nobody registered.
Error find_kernel(const Driver& driver, const void* function, CUkernel& kernel);
/// A variable's place in the current context, and its size in bytes; both may be null.
/// cudaErrorInvalidSymbol for a variable that nobody registered.
Error find_variable(const Driver& driver, const void* variable, CUdeviceptr* place,
                    std::size_t* size);
/// Gives the pointers to the binary's managed variables their values.
Error place_managed(const Driver& driver, void** binary);

/// The code of a kernel that a GPU would run. Versions are ten times the major compute capability
/// plus the minor one; 0: not known.
struct CodeVersion {
  int ptx = 0;     ///< of the PTX, or of the PTX that the machine code was compiled from
  int binary = 0;  ///< of the machine code
};
CodeVersion code_version(const void* function, int gpu) noexcept;

}  // namespace cuvmm::runtime
