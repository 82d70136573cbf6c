// SPDX-License-Identifier: Apache-2.0
// A driver in a child process. Each call is reported before it is made, so that the parent can name
// the call in which the child crashed or hung.
#pragma once

#include <cuda.h>

#include <optional>
#include <string>

#include "api/driver/driver.h"
#include "tools/doctor/children.h"

namespace cuvmm::doctor {

class TrialDriver {
 public:
  /// Loads and starts the driver, and reports a failure.
  TrialDriver(const std::string& path, const Reporter& say);

  bool started() const { return started_; }
  int devices() const { return devices_; }
  const LoadedDriver& loaded() const { return loaded_; }

  /// Reports the call's name, then makes the call.
  template <class CallStruct>
  CUresult operator()(const CallStruct& call) {
    say_.step(CallStruct::kName);
    const CUresult code = loaded_.driver(call);
    if (code != CUDA_SUCCESS && !failed_) failed_ = CallStruct::kName;
    return code;
  }
  /// Reports `code` under "KEY". If `code` is no success, also reports under "KEY.call" the first
  /// call that failed since the last report; later failures, such as those of the clean-up, are not
  /// named.
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
/// and returns that call's code. The destructor unmaps and frees everything.
class Granule {
 public:
  explicit Granule(TrialDriver& driver) : driver_(driver) {}
  Granule(const Granule&) = delete;
  Granule& operator=(const Granule&) = delete;
  ~Granule();

  CUresult create(CUdevice device, CUmemAllocationHandleType type);
  /// Takes over an imported handle; the destructor releases it.
  void adopt(CUmemGenericAllocationHandle handle, std::size_t size) {
    handle_ = handle;
    size_ = size;
  }
  CUresult map();
  CUresult allow(CUdevice device);
  /// Unmaps and frees everything, as the destructor does. Returns the first code that is no
  /// success.
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
