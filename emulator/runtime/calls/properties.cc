// SPDX-License-Identifier: Apache-2.0
// cudaGetDeviceProperties: a structure whose layout differs between CUDA 12 and 13, written by a
// table.
#include <cstring>

#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

namespace {

struct Property {
  int offset;  ///< -1: this version has no such field
  int bytes;
  CUdevice_attribute attribute;
};

constexpr Property kProperties[] = {
#define CUVMM_PROPERTY(field, offset_12, offset_13, bytes, attribute) \
  {kMajor == 12 ? offset_12 : offset_13, bytes, static_cast<CUdevice_attribute>(attribute)},
#include "emulator/runtime/properties.def"
#undef CUVMM_PROPERTY
};

// At equal offsets in both: name, UUID and the size of the device's memory.
constexpr int kNameBytes = 256;
constexpr int kUuid = 256;
constexpr int kTotalMemory = 288;
constexpr std::size_t kBytes = kMajor == 12 ? 1032 : 1008;

template <class Value>
void put(unsigned char* place, Value value) {
  std::memcpy(place, &value, sizeof value);
}

Error describe(const Driver& driver, int device, unsigned char* out) {
  std::memset(out, 0, kBytes);
  Error error = ask(driver.cuDeviceGetName, reinterpret_cast<char*>(out), kNameBytes, device);
  if (error != cudaSuccess) return error;
  CUuuid uuid{};
  if (ask(driver.cuDeviceGetUuid, &uuid, device) == cudaSuccess) put(out + kUuid, uuid);
  std::size_t memory = 0;
  error = ask(driver.cuDeviceTotalMem, &memory, device);
  if (error != cudaSuccess) return error;
  put(out + kTotalMemory, memory);
  for (const Property& property : kProperties) {
    int value = 0;
    // A property that an older driver does not know stays 0.
    if (property.offset < 0 ||
        ask(driver.cuDeviceGetAttribute, &value, property.attribute, device) != cudaSuccess) {
      continue;
    }
    if (property.bytes == sizeof(int)) {
      put(out + property.offset, value);
    } else {
      put(out + property.offset, static_cast<std::size_t>(value));
    }
  }
  return cudaSuccess;
}

Error properties(void* out, int device) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    if (!out) return cudaErrorInvalidValue;
    CUdevice ordinal = 0;
    if (const Error error = ask(driver.cuDeviceGet, &ordinal, device); error != cudaSuccess) {
      return error;
    }
    return describe(driver, ordinal, static_cast<unsigned char*>(out));
  });
}

}  // namespace

// Programs of CUDA 12 call the name with _v2; the plain name has CUDA 11's layout there.
#if CUVMM_RUNTIME_MAJOR == 12
CUVMM_EXPORT(Error, cudaGetDeviceProperties_v2, void* out, int device) {
  return properties(out, device);
}
#else
CUVMM_EXPORT(Error, cudaGetDeviceProperties, void* out, int device) {
  return properties(out, device);
}
#endif

}  // namespace cuvmm::runtime
