// SPDX-License-Identifier: Apache-2.0
// The properties of a device.
#include <cuda.h>

#include "emulator/base/export.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

namespace {

/// nvmlDeviceArchitecture_t, from the compute capability.
constexpr unsigned kAmpere = 7, kAda = 8, kHopper = 9, kBlackwell = 10, kUnknownArchitecture = ~0u;
unsigned architecture(int major, int minor) {
  constexpr int kAdaMinor = 9;
  if (major == 8) return minor == kAdaMinor ? kAda : kAmpere;
  if (major == 9) return kHopper;
  return major >= 10 ? kBlackwell : kUnknownArchitecture;
}

template <class Value>
Error answer(Handle handle, Value* out, Value value) {
  return on_device(handle, [&](const Machine&, int) -> Error {
    if (!out) return kInvalidArgument;
    *out = value;
    return kSuccess;
  });
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetName, Handle handle, char* text, unsigned size) {
  return on_device(handle, [&](const Machine& machine, int) {
    return write_text(machine.profile().gpu.c_str(), text, size);
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetCudaComputeCapability, Handle handle, int* major, int* minor) {
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (!major || !minor) return kInvalidArgument;
    *major = machine.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = machine.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetArchitecture, Handle handle, unsigned* out) {
  return on_device(handle, [&](const Machine& machine, int) -> Error {
    if (!out) return kInvalidArgument;
    *out = architecture(machine.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                        machine.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    return kSuccess;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetBrand, Handle handle, int* brand) {
  constexpr int kNvidia = 14;
  return answer(handle, brand, kNvidia);
}

// The default mode: any number of contexts.
CUVMM_EXPORT(Error, nvmlDeviceGetComputeMode, Handle handle, int* mode) {
  return answer(handle, mode, 0);
}

// nvmlDeviceGetMigMode answers NOT_SUPPORTED (stubs.cc), and no handle stands for a part of a GPU.
CUVMM_EXPORT(Error, nvmlDeviceIsMigDeviceHandle, Handle handle, unsigned* is) {
  return answer(handle, is, 0u);
}

}  // namespace cuvmm::nvml
