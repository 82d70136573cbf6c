// SPDX-License-Identifier: Apache-2.0
// The next definition of a function of the C library that we stand in front of.
#pragma once

#include <dlfcn.h>

namespace cuvmm::shim {

/// As dlsym(RTLD_NEXT, name) from our own library, whose definition is `own`. A preloaded library
/// that hooks dlsym asks from its own place and may find `own` again; then the C library's is
/// taken, so that we never call ourselves. Null when there is none.
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
