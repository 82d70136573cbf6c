// SPDX-License-Identifier: Apache-2.0
// Virtual memory management, and the calls that share its memory.
#include <unistd.h>

#include "emulator/testing_capture/scene.h"

namespace cuvmm::capture_test {

namespace {

constexpr auto kFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
CUdeviceptr address;
CUmemGenericAllocationHandle made;

CUresult create(std::size_t size) {
  const CUmemAllocationProp prop = properties();
  return cuMemCreate(&made, size, &prop, 0);
}

CUresult set_access(CUdeviceptr at) {
  const CUmemAccessDesc access = read_write();
  return cuMemSetAccess(at, kGranule, &access, 1);
}

CUresult get_access(Scene& s) {
  const CUmemLocation location = read_write().location;
  unsigned long long flags = 0;
  return cuMemGetAccess(&flags, &location, s.mapped);
}

CUresult export_memory(Scene& s) {
  int fd = -1;
  const CUresult result = cuMemExportToShareableHandle(&fd, s.shareable, kFd, 0);
  if (result == CUDA_SUCCESS) close(fd);
  return result;
}

CUresult import_memory(Scene& s) {
  return cuMemImportFromShareableHandle(
      &made, reinterpret_cast<void*>(static_cast<std::intptr_t>(s.descriptor)), kFd);
}

CUresult range_handle(Scene& s) {
  int fd = -1;
  const CUresult result = cuMemGetHandleForAddressRange(&fd, s.mapped, kGranule,
                                                        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (result == CUDA_SUCCESS) close(fd);
  return result;
}

CUresult granularity(Scene&) {
  const CUmemAllocationProp prop = properties();
  std::size_t size = 0;
  return cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

CUresult unmap_in_relaxed_mode(Scene& s) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CUVMM_REQUIRE(cuThreadExchangeStreamCaptureMode(&mode));
  const CUresult result = cuMemUnmap(s.mapped, kGranule);
  CUVMM_REQUIRE(cuThreadExchangeStreamCaptureMode(&mode));
  return result;
}

CUresult import_external(Scene& s) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = dup(s.descriptor);
  desc.size = kGranule;
  CUexternalMemory memory = nullptr;
  return cuImportExternalMemory(&memory, &desc);
}

constexpr Named kCalls[] = {
    {"cuMemAddressReserve",
     [](Scene&) { return cuMemAddressReserve(&address, kGranule, 0, 0, 0); }},
    {"cuMemCreate", [](Scene&) { return create(kGranule); }},
    {"cuMemMap", [](Scene& s) { return cuMemMap(s.reserved, kGranule, 0, s.handle, 0); }},
    {"cuMemSetAccess", [](Scene& s) { return set_access(s.mapped); }},
    {"cuMemSetAccess/first", [](Scene& s) { return set_access(s.no_access); }},
    {"cuMemGetAccess", get_access},
    {"cuMemUnmap", [](Scene& s) { return cuMemUnmap(s.mapped, kGranule); }},
    {"cuMemUnmap/noaccess", [](Scene& s) { return cuMemUnmap(s.no_access, kGranule); }},
    {"cuMemRelease/mapped", [](Scene& s) { return cuMemRelease(s.handle); }},
    {"cuMemRelease/last", [](Scene& s) { return cuMemRelease(s.shareable); }},
    {"cuMemAddressFree", [](Scene& s) { return cuMemAddressFree(s.reserved, 4 * kGranule); }},
    {"cuMemExportToShareableHandle", export_memory},
    {"cuMemImportFromShareableHandle", import_memory},
    {"cuMemRetainAllocationHandle",
     [](Scene& s) {
       return cuMemRetainAllocationHandle(&made, reinterpret_cast<void*>(s.mapped));
     }},
    {"cuMemGetAllocationGranularity", granularity},
    {"cuMemGetAllocationPropertiesFromHandle",
     [](Scene& s) {
       CUmemAllocationProp prop{};
       return cuMemGetAllocationPropertiesFromHandle(&prop, s.handle);
     }},
    {"cuMemGetHandleForAddressRange", range_handle},
    {"cuMemMap/invalid-size", [](Scene& s) { return cuMemMap(s.reserved, 1, 0, s.handle, 0); }},
    {"cuMemUnmap/nothing", [](Scene& s) { return cuMemUnmap(s.reserved, kGranule); }},
    {"cuMemCreate/size-0", [](Scene&) { return create(0); }},
    {"cuMemSetAccess/unmapped", [](Scene& s) { return set_access(s.reserved); }},
    {"relaxed+cuMemUnmap", unmap_in_relaxed_mode},
    {"cuImportExternalMemory", import_external},
};

}  // namespace

std::span<const Named> vmm_calls() { return kCalls; }

}  // namespace cuvmm::capture_test
