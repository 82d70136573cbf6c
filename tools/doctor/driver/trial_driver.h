// SPDX-License-Identifier: Apache-2.0
// A started driver in an expendable child, which says each call before it makes it.
#pragma once

#include <cuda.h>

#include <optional>
#include <string>

#include "api/driver/driver.h"
#include "tools/doctor/children.h"

namespace cuvmm::doctor {

class TrialDriver {
 public:
  /// Loads and starts it, and says what went wrong.
  TrialDriver(const std::string& path, const Reporter& say);

  bool started() const { return started_; }
  int devices() const { return devices_; }
  const LoadedDriver& loaded() const { return loaded_; }

  /// Says the call's name, then makes it.
  template <class CallStruct>
  CUresult operator()(const CallStruct& call) {
    say_.step(CallStruct::kName);
    const CUresult code = loaded_.driver(call);
    if (code != CUDA_SUCCESS && !failed_) failed_ = CallStruct::kName;
    return code;
  }
  /// A code under "KEY" and, if it is no success, the call that answered it under "KEY.call": the
  /// first that failed since the last report. What was given back meanwhile does not count.
  void report(const std::string& key, CUresult code) {
    if (code != CUDA_SUCCESS) say_.fact(key + ".call", failed_ ? failed_ : "");
    say_.fact(key, static_cast<int>(code));
    failed_ = nullptr;
  }
  CUdevice device(int ordinal);
  std::optional<int> attribute(CUdevice_attribute attribute, CUdevice device);

 private:
  const Reporter& say_;
  LoadedDriver loaded_;
  const char* failed_ = nullptr;
  bool started_ = false;
  int devices_ = 0;
};

/// Device memory that may be exported as `type` (NONE: not at all).
CUmemAllocationProp device_memory(CUdevice device, CUmemAllocationHandleType type);

/// One granule of memory in a range of its own. Each function stops at the first call that fails
/// and gives its code; the destructor gives everything back.
class Granule {
 public:
  explicit Granule(TrialDriver& driver) : driver_(driver) {}
  Granule(const Granule&) = delete;
  Granule& operator=(const Granule&) = delete;
  ~Granule();

  CUresult create(CUdevice device, CUmemAllocationHandleType type);
  /// Takes over what was imported.
  void adopt(CUmemGenericAllocationHandle handle, std::size_t size) {
    handle_ = handle;
    size_ = size;
  }
  CUresult map();
  CUresult allow(CUdevice device);
  /// What the destructor does, with the first code that is no success.
  CUresult give_back();

  std::size_t size() const { return size_; }
  CUmemGenericAllocationHandle handle() const { return handle_; }
  CUdeviceptr address() const { return address_; }

 private:
  TrialDriver& driver_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace cuvmm::doctor
