// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/machine.h"

#include <cstdio>
#include <cstdlib>

namespace cuvmm::bench {

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "cuvmm-bench: %s: %s\n", what, result_name(result).c_str());
  std::exit(1);
}

Variant open_variant(std::string name, const std::string& path) {
  const LoadedDriver loaded = load_driver(path);
  if (!loaded.error.empty()) {
    std::fprintf(stderr, "cuvmm-bench: %s\n", loaded.error.c_str());
    std::exit(1);
  }
  must(loaded.driver(calls::Init{}), "cuInit");
  use_device(loaded.driver);
  return {std::move(name), loaded.driver, loaded.library};
}

void use_device(const Driver& driver) {
  CUcontext context = nullptr;
  must(driver(calls::DevicePrimaryCtxRetain{&context, 0}), "cuDevicePrimaryCtxRetain");
  must(driver(calls::CtxSetCurrent{context}), "cuCtxSetCurrent");
}

CUmemAllocationProp device_memory(bool shareable) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (shareable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

LiveMappings::LiveMappings(const Driver& driver, std::size_t count)
    : driver_(driver), size_(count * kGranule) {
  if (size_ == 0) return;
  const CUmemAllocationProp prop = device_memory();
  must(driver_(calls::MemAddressReserve{.ptr = &base_, .size = size_}), "reserve");
  must(driver_(calls::MemCreate{.handle = &handle_, .size = kGranule, .prop = &prop}), "create");
  for (CUdeviceptr at = base_; at < base_ + size_; at += kGranule) {
    must(driver_(calls::MemMap{.ptr = at, .size = kGranule, .handle = handle_}), "map");
  }
}

void LiveMappings::give_access() const {
  if (size_ == 0) return;
  const CUmemAccessDesc access{device_memory().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  must(driver_(calls::MemSetAccess{.ptr = base_, .size = size_, .desc = &access, .count = 1}),
       "access");
}

LiveMappings::~LiveMappings() {
  if (size_ == 0) return;
  must(driver_(calls::MemUnmap{.ptr = base_, .size = size_}), "unmap");
  must(driver_(calls::MemRelease{.handle = handle_}), "release");
  must(driver_(calls::MemAddressFree{.ptr = base_, .size = size_}), "free");
}

}  // namespace cuvmm::bench
