// SPDX-License-Identifier: Apache-2.0
// UCX empties its cache in a destructor of its library, which runs after the driver's own end. The
// driver answers DEINITIALIZED there; the mappings that remain were in use until the end.
//
// expects: nothing
#include "real-driver-tests/flows/flow.h"
#include "real-driver-tests/flows/late_library.h"

int main() {
  const std::size_t granule = bug::start();
  const flow::Mapped mapped = flow::map_new(granule);
  SAW(CUDA_SUCCESS, cuMemRelease(mapped.handle));
  CUdeviceptr plain = 0;
  MUST(cuMemAlloc(&plain, granule));
  keep_until_the_end(mapped.address, mapped.size, plain);
  return bug::verdict();
}
