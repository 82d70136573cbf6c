// SPDX-License-Identifier: Apache-2.0
// The compiler at run time (NVRTC), in a process whose kernels run from their PTX. These two
// functions come before those of a linked libnvrtc, and give a program its PTX where the program
// wants machine code, which the emulator cannot run. NVRTC has both after a compilation for a GPU
// (`-arch=sm_90`). libnvrtc itself stays as it is, so a program that looks its functions up by
// dlsym() gets the machine code.
#include <link.h>

#include <cstddef>

#include "emulator/redirect/exports.h"
#include "emulator/redirect/system.h"

// NOLINTNEXTLINE(readability-redundant-declaration): link.h declares it without the attribute
extern struct r_debug _r_debug __attribute__((weak));

namespace cuvmm::redirect {

namespace {

constexpr int kInternalError = 11;  // NVRTC_ERROR_INTERNAL_ERROR

template <class Function>
Function of_compiler(const char* name) {
  if (!&_r_debug) return nullptr;
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    if (!starts_with(file_name(object->l_name), "libnvrtc.so")) continue;
    if (const void* const found = Exports(*object).find(name))
      return reinterpret_cast<Function>(const_cast<void*>(found));
  }
  return nullptr;
}

}  // namespace

}  // namespace cuvmm::redirect

extern "C" {

__attribute__((visibility("default"))) int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  const auto of_text =
      cuvmm::redirect::of_compiler<int (*)(void*, std::size_t*)>("nvrtcGetPTXSize");
  return of_text ? of_text(program, size) : cuvmm::redirect::kInternalError;
}

__attribute__((visibility("default"))) int nvrtcGetCUBIN(void* program, char* code) {
  const auto text = cuvmm::redirect::of_compiler<int (*)(void*, char*)>("nvrtcGetPTX");
  return text ? text(program, code) : cuvmm::redirect::kInternalError;
}
}
