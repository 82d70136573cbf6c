// SPDX-License-Identifier: Apache-2.0
// Field bug 29: ovg-project/kvcached pull request 238 (in review: offsets were not checked).
// The program maps a page beyond the end of its own tensor's address range. The driver accepts that
// without an error. The page then lies in the neighbour's range, whose own mapping is refused later
// with CUDA_ERROR_INVALID_VALUE, far from the mistake.
//
// expects: cuMemMap-inside-reservation
// expects: cuMemMap-vacant
#include "examples/bugs/bug.h"

int main() {
  const std::size_t page = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr both = 0, tensor = 0, neighbour = 0;
  // The driver gives a freed range out again when the program asks for it: two adjacent ranges.
  MUST(cuMemAddressReserve(&both, 4 * page, 0, 0, 0));
  MUST(cuMemAddressFree(both, 4 * page));
  MUST(cuMemAddressReserve(&tensor, 2 * page, 0, both, 0));
  MUST(cuMemAddressReserve(&neighbour, 2 * page, 0, both + 2 * page, 0));
  if (neighbour != tensor + 2 * page) bug::skip("the two address ranges are not adjacent");
  CUmemGenericAllocationHandle large = 0, own = 0;
  MUST(cuMemCreate(&large, 2 * page, &prop, 0));
  MUST(cuMemCreate(&own, page, &prop, 0));

  SAW(CUDA_SUCCESS, cuMemMap(tensor + page, 2 * page, 0, large, 0));    // one page too far
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemMap(neighbour, page, 0, own, 0));  // its first page

  // The program frees no addresses, because no unmap fits a mapping in two reservations, and ends
  // here.
  MUST(cuMemRelease(large));
  MUST(cuMemRelease(own));
  return bug::verdict();
}
