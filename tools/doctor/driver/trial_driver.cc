// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver/trial_driver.h"

#include "api/location.h"

namespace cuvmm::doctor {

TrialDriver::TrialDriver(const std::string& path, const Reporter& say) : say_(say) {
  say.step("dlopen");
  loaded_ = load_driver(path);
  if (!loaded_.error.empty()) {
    say.fact("load_error", loaded_.error);
    return;
  }
  const CUresult code = (*this)(calls::Init{});
  say.fact("init", static_cast<int>(code));
  if (code != CUDA_SUCCESS) return;
  started_ = true;
  if ((*this)(calls::DeviceGetCount{.count = &devices_}) != CUDA_SUCCESS) devices_ = 0;
  say.fact("count", devices_);
}

CUdevice TrialDriver::device(int ordinal) {
  CUdevice device = 0;
  return (*this)(calls::DeviceGet{.device = &device, .ordinal = ordinal}) == CUDA_SUCCESS ? device
                                                                                          : ordinal;
}

std::optional<int> TrialDriver::attribute(CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  const CUresult code =
      (*this)(calls::DeviceGetAttribute{.value = &value, .attrib = attribute, .dev = device});
  return code == CUDA_SUCCESS ? std::optional<int>(value) : std::nullopt;
}

CUmemAllocationProp device_memory(CUdevice device, CUmemAllocationHandleType type) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = type;
  prop.location = make_location(kLocationDevice, device);
  return prop;
}

CUresult Granule::create(CUdevice device, CUmemAllocationHandleType type) {
  const CUmemAllocationProp prop = device_memory(device, type);
  CUresult code = driver_(calls::MemGetAllocationGranularity{
      .granularity = &size_, .prop = &prop, .option = CU_MEM_ALLOC_GRANULARITY_MINIMUM});
  if (code != CUDA_SUCCESS) return code;
  code = driver_(calls::MemCreate{.handle = &handle_, .size = size_, .prop = &prop});
  if (code != CUDA_SUCCESS) handle_ = 0;
  return code;
}

CUresult Granule::map() {
  CUresult code = driver_(calls::MemAddressReserve{.ptr = &address_, .size = size_});
  if (code != CUDA_SUCCESS) {
    address_ = 0;
    return code;
  }
  code = driver_(calls::MemMap{.ptr = address_, .size = size_, .handle = handle_});
  mapped_ = code == CUDA_SUCCESS;
  return code;
}

CUresult Granule::allow(CUdevice device) {
  CUmemAccessDesc access{};
  access.location = make_location(kLocationDevice, device);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver_(calls::MemSetAccess{.ptr = address_, .size = size_, .desc = &access, .count = 1});
}

CUresult Granule::give_back() {
  CUresult first = CUDA_SUCCESS;
  const auto keep = [&](CUresult code) {
    if (first == CUDA_SUCCESS) first = code;
  };
  if (mapped_) keep(driver_(calls::MemUnmap{.ptr = address_, .size = size_}));
  if (address_) keep(driver_(calls::MemAddressFree{.ptr = address_, .size = size_}));
  if (handle_) keep(driver_(calls::MemRelease{.handle = handle_}));
  mapped_ = false;
  address_ = handle_ = 0;
  return first;
}

Granule::~Granule() { give_back(); }

}  // namespace cuvmm::doctor
