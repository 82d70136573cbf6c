// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/driver.h"

#include "api/multicast.h"
#include "fuzz/machine/driver_library.h"

namespace cuvmm::fuzz::plain {

Functions load_functions(const std::string& path) {
  Functions out;
  DriverLibrary library(path);
#define CUVMM_FUNCTION(name)            \
  static_assert(!can_multicast(#name)); \
  library.find(out.name, #name);
#include "fuzz/plain/functions.def"
  library.find(out.cuCtxCreate_v2, "cuCtxCreate_v2");
  library.find_newer(out.cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync_v2");
  out.error = library.error();
  return out;
}

}  // namespace cuvmm::fuzz::plain
