// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/driver.h"

#include <dlfcn.h>

#include "api/multicast.h"

namespace cuvmm::fuzz::plain {

Functions load_functions(const std::string& path) {
  Functions out;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    out.error = dlerror();
    return out;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) out.error = path + " has no " + name;
  };
#define CUVMM_FUNCTION(name)            \
  static_assert(!can_multicast(#name)); \
  find(out.name, #name);
#include "fuzz/plain/functions.def"
  find(out.cuCtxCreate_v2, "cuCtxCreate_v2");
  out.cuMemcpyBatchAsync_v2 = reinterpret_cast<decltype(out.cuMemcpyBatchAsync_v2)>(
      dlsym(library, "cuMemcpyBatchAsync_v2"));
  return out;
}

}  // namespace cuvmm::fuzz::plain
