// SPDX-License-Identifier: Apache-2.0
// The functions of a driver by their names, for vocabularies of calls of their own.
#pragma once

#include <dlfcn.h>

#include <string>

#include "api/driver/driver.h"

namespace cuvmm::fuzz {

/// A function of a loaded driver that is no entry point; null where the driver lacks it.
template <class Function>
Function* function_of(const LoadedDriver& loaded, const char* name) {
  return loaded.library ? reinterpret_cast<Function*>(dlsym(loaded.library, name)) : nullptr;
}

/// A loaded libcuda, which stays loaded.
class DriverLibrary {
 public:
  explicit DriverLibrary(const std::string& path)
      : path_(path), library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) error_ = dlerror();
  }
  /// Finds a function that the vocabulary cannot do without; its absence is an error.
  template <class Function>
  void find(Function*& function, const char* name) {
    if (!library_) return;
    find_newer(function, name);
    if (!function) error_ = path_ + " has no " + name;
  }
  /// Finds a function that older drivers lack; null there.
  template <class Function>
  void find_newer(Function*& function, const char* name) const {
    if (library_) function = reinterpret_cast<Function*>(dlsym(library_, name));
  }
  /// Why the library cannot be used; empty for none.
  const std::string& error() const { return error_; }

 private:
  std::string path_;
  void* library_;
  std::string error_;
};

}  // namespace cuvmm::fuzz
