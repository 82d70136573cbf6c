// SPDX-License-Identifier: Apache-2.0
// Plain and host memory, copies and fills.
#include "emulator/testing_capture/scene.h"

namespace cuvmm::capture_test {

namespace {

CUdeviceptr address;
void* host;

CUresult allocate(Scene&) { return cuMemAlloc(&address, 4096); }

CUresult copy_to_host(Scene& s) { return cuMemcpyDtoH(s.buffer, s.one, 16); }

template <CUstreamCaptureMode kMode, CUresult (*kCall)(Scene&)>
CUresult in_mode(Scene& s) {
  CUstreamCaptureMode mode = kMode;
  CUVMM_REQUIRE(cuThreadExchangeStreamCaptureMode(&mode));
  const CUresult result = kCall(s);
  CUVMM_REQUIRE(cuThreadExchangeStreamCaptureMode(&mode));
  return result;
}

CUresult ordinal(Scene& s) {
  int value = 0;
  return cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, s.one);
}

CUresult synchronous(Scene& s) {
  const int value = 1;
  return cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, s.one);
}

constexpr Named kCalls[] = {
    {"cuMemAlloc", allocate},
    {"cuMemAlloc/size-0", [](Scene&) { return cuMemAlloc(&address, 0); }},
    {"cuMemAllocPitch",
     [](Scene&) {
       std::size_t pitch = 0;
       return cuMemAllocPitch(&address, &pitch, 100, 100, 4);
     }},
    {"cuMemFree", [](Scene& s) { return cuMemFree(s.to_free); }},
    {"cuMemFree/null", [](Scene&) { return cuMemFree(0); }},
    {"cuMemFree/garbage", [](Scene&) { return cuMemFree(0x1234); }},
    {"cuMemAllocHost", [](Scene&) { return cuMemAllocHost(&host, 4096); }},
    {"cuMemHostAlloc", [](Scene&) { return cuMemHostAlloc(&host, 4096, 0); }},
    {"cuMemFreeHost", [](Scene& s) { return cuMemFreeHost(s.host); }},
    {"cuMemHostRegister", [](Scene& s) { return cuMemHostRegister(s.pages(), 8192, 0); }},
    {"cuMemHostUnregister", [](Scene& s) { return cuMemHostUnregister(s.registered); }},
    {"cuMemGetInfo",
     [](Scene&) {
       std::size_t free = 0, total = 0;
       return cuMemGetInfo(&free, &total);
     }},
    {"cuMemGetAddressRange",
     [](Scene& s) {
       std::size_t size = 0;
       return cuMemGetAddressRange(&address, &size, s.one);
     }},
    {"cuPointerGetAttribute", ordinal},
    {"cuPointerSetAttribute/sync", synchronous},
    {"cuIpcGetMemHandle",
     [](Scene& s) {
       CUipcMemHandle handle;
       return cuIpcGetMemHandle(&handle, s.one);
     }},
    {"cuMemcpyDtoH", copy_to_host},
    {"cuMemcpyHtoD", [](Scene& s) { return cuMemcpyHtoD(s.one, s.buffer, 16); }},
    {"cuMemcpyDtoD", [](Scene& s) { return cuMemcpyDtoD(s.one, s.two, 16); }},
    {"cuMemcpyDtoH/size-0", [](Scene& s) { return cuMemcpyDtoH(s.buffer, s.one, 0); }},
    {"cuMemcpyDtoH/invalid", [](Scene& s) { return cuMemcpyDtoH(s.buffer, s.reserved, 16); }},
    {"cuMemsetD8", [](Scene& s) { return cuMemsetD8(s.one, 1, 16); }},
    {"cuMemcpyDtoDAsync/capturing",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.two, 16, s.capturing); }},
    {"cuMemcpyDtoHAsync/capturing-pageable",
     [](Scene& s) { return cuMemcpyDtoHAsync(s.buffer, s.two, 16, s.capturing); }},
    {"cuMemcpyDtoHAsync/capturing-invalid",
     [](Scene& s) { return cuMemcpyDtoHAsync(s.buffer, s.reserved, 16, s.capturing); }},
    {"cuMemcpyDtoDAsync/capturing-size-0",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.two, 0, s.capturing); }},
    {"cuMemcpyDtoDAsync/mapped-noaccess",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.no_access, 16, s.capturing); }},
    {"cuMemcpyDtoDAsync/other",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.two, 16, s.other); }},
    {"cuMemcpyDtoDAsync/legacy",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.two, 16, nullptr); }},
    {"cuMemcpyDtoDAsync/per-thread",
     [](Scene& s) { return cuMemcpyDtoDAsync(s.one, s.two, 16, CU_STREAM_PER_THREAD); }},
    {"cuMemsetD8Async/capturing",
     [](Scene& s) { return cuMemsetD8Async(s.one, 1, 16, s.capturing); }},
    {"cuMemsetD8Async/capturing-vmm",
     [](Scene& s) { return cuMemsetD8Async(s.mapped, 1, 16, s.capturing); }},
    {"cuMemsetD8Async/capturing-invalid",
     [](Scene& s) { return cuMemsetD8Async(s.reserved, 1, 16, s.capturing); }},
    {"cuMemsetD8Async/other", [](Scene& s) { return cuMemsetD8Async(s.one, 1, 16, s.other); }},
    {"relaxed+cuMemAlloc", in_mode<CU_STREAM_CAPTURE_MODE_RELAXED, allocate>},
    {"thread-local+cuMemAlloc", in_mode<CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, allocate>},
    {"relaxed+cuMemcpyDtoH", in_mode<CU_STREAM_CAPTURE_MODE_RELAXED, copy_to_host>},
};

}  // namespace

std::span<const Named> memory_calls() { return kCalls; }

}  // namespace cuvmm::capture_test
