// SPDX-License-Identifier: Apache-2.0
#include "emulator/testing_capture/scene.h"

#include <cstdio>
#include <cstdlib>

namespace cuvmm::capture_test {

void require(CUresult result, const char* expression) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", expression, static_cast<int>(result));
  std::exit(1);
}

CUmemAllocationProp properties(bool shareable) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (shareable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

CUmemAccessDesc read_write() {
  CUmemAccessDesc desc{};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return desc;
}

CUmemPoolProps pool_properties(bool shareable) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (shareable) props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return props;
}

void prepare(Scene& s, bool blocking) {
  CUVMM_REQUIRE(cuStreamCreate(&s.capturing, blocking ? 0 : CU_STREAM_NON_BLOCKING));
  CUVMM_REQUIRE(cuStreamCreate(&s.other, CU_STREAM_NON_BLOCKING));
  const CUmemAllocationProp prop = properties(), shareable = properties(true);
  const CUmemAccessDesc access = read_write();
  CUmemGenericAllocationHandle second = 0;
  CUVMM_REQUIRE(cuMemAddressReserve(&s.mapped, 4 * kGranule, 0, 0, 0));
  CUVMM_REQUIRE(cuMemAddressReserve(&s.reserved, 4 * kGranule, 0, 0, 0));
  CUVMM_REQUIRE(cuMemCreate(&s.handle, kGranule, &prop, 0));
  CUVMM_REQUIRE(cuMemCreate(&second, kGranule, &prop, 0));
  CUVMM_REQUIRE(cuMemCreate(&s.shareable, kGranule, &shareable, 0));
  CUVMM_REQUIRE(cuMemMap(s.mapped, kGranule, 0, s.handle, 0));
  CUVMM_REQUIRE(cuMemSetAccess(s.mapped, kGranule, &access, 1));
  s.no_access = s.mapped + 2 * kGranule;
  CUVMM_REQUIRE(cuMemMap(s.no_access, kGranule, 0, second, 0));
  CUVMM_REQUIRE(cuMemExportToShareableHandle(&s.descriptor, s.shareable,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUVMM_REQUIRE(cuMemAlloc(&s.one, 1 << 20));
  CUVMM_REQUIRE(cuMemAlloc(&s.two, 1 << 20));
  CUVMM_REQUIRE(cuMemAlloc(&s.to_free, 1 << 20));
  const CUmemPoolProps pool = pool_properties(true);
  CUVMM_REQUIRE(cuMemPoolCreate(&s.pool, &pool));
  CUVMM_REQUIRE(cuMemPoolCreate(&s.to_destroy, &pool));
  CUVMM_REQUIRE(cuMemAllocFromPoolAsync(&s.of_pool, 4096, s.pool, s.other));
  CUVMM_REQUIRE(cuEventCreate(&s.recorded, 0));
  CUVMM_REQUIRE(cuEventCreate(&s.event, 0));
  CUVMM_REQUIRE(cuEventRecord(s.recorded, s.other));
  CUVMM_REQUIRE(cuStreamSynchronize(s.other));
  CUVMM_REQUIRE(cuMemAllocHost(&s.host, 4096));
  s.registered = s.pages() + 8192;
  CUVMM_REQUIRE(cuMemHostRegister(s.registered, 4096, 0));
}

}  // namespace cuvmm::capture_test
