// SPDX-License-Identifier: Apache-2.0
// A driver of plain functions, one device and a current context on it: for tests that count or
// race, where a mock would allocate and lock.
#pragma once

#include <cstdint>

#include "api/driver/driver.h"

namespace cuvmm::shim {

class AnsweringDriver {
 public:
  AnsweringDriver() {
    set(calls::DeviceGetCount{}, [](int* count) {
      *count = 1;
      return CUDA_SUCCESS;
    });
    set(calls::CtxGetCurrent{}, [](CUcontext* context) {
      *context = reinterpret_cast<CUcontext>(std::uintptr_t{1});
      return CUDA_SUCCESS;
    });
    set(calls::CtxGetDevice{}, [](CUdevice* device) {
      *device = 0;
      return CUDA_SUCCESS;
    });
  }

  /// `function` answers the calls of this struct.
  template <class CallStruct>
  void set(const CallStruct&, typename CallStruct::Function function) {
    driver_.set(Driver::primary_symbol(CallStruct::kEntryPoint),
                reinterpret_cast<Driver::AnyFunction>(function));
  }
  const Driver& driver() const { return driver_; }

 private:
  Driver driver_;
};

}  // namespace cuvmm::shim
