// SPDX-License-Identifier: Apache-2.0
// Finds the next definition of a function of the C library that the shim defines as well.
#pragma once

#include <dlfcn.h>

namespace cuvmm::shim {

/// As dlsym(RTLD_NEXT, name) from this library, whose definition is `own`. A preloaded library that
/// hooks dlsym() searches from its own place and may return `own` again; then the C library's
/// function is taken, so that the shim never calls itself. Null if there is none.
inline void* libc_function(const char* name, const void* own) noexcept {
  void* const next = ::dlsym(RTLD_NEXT, name);
  if (next != own) return next;
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!libc) return nullptr;
  void* const found = ::dlsym(libc, name);
  ::dlclose(libc);  // its own reference, just taken
  return found == own ? nullptr : found;
}

}  // namespace cuvmm::shim
