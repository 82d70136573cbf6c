// SPDX-License-Identifier: Apache-2.0
// Devices: their number, the thread's device, and which devices reach each other.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_EXPORT(Error, cudaGetDeviceCount, int* count) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    if (!count) return cudaErrorInvalidValue;
    const Error error = ask(driver.cuDeviceGetCount, count);
    return error == cudaSuccess && *count == 0 ? cudaErrorNoDevice : error;
  });
}

CUVMM_EXPORT(Error, cudaGetDevice, int* device) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    if (!device) return cudaErrorInvalidValue;
    *device = current_device(driver);
    return cudaSuccess;
  });
}

CUVMM_EXPORT(Error, cudaSetDevice, int device) {
  return in_driver(Streams::kLegacy,
                   [&](const Driver& driver) { return use_device(driver, device); });
}

CUVMM_EXPORT(Error, cudaInitDevice, int device, unsigned flags, unsigned what) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    constexpr unsigned kFlagsAreValid = 1;
    if (what & ~kFlagsAreValid) return cudaErrorInvalidValue;
    if (what & kFlagsAreValid) {
      const Error error = ask(driver.cuDevicePrimaryCtxSetFlags, device, flags);
      if (error != cudaSuccess) return error;
    }
    CUcontext context = nullptr;
    return primary_context(driver, device, context);
  });
}

CUVMM_EXPORT(Error, cudaDeviceReset) {
  return in_driver(Streams::kLegacy, [](const Driver& driver) { return reset_device(driver); });
}

CUVMM_EXPORT(Error, cudaDeviceSynchronize) {
  return in_context(Streams::kLegacy,
                    [](const Driver& driver) { return ask(driver.cuCtxSynchronize); });
}

CUVMM_EXPORT(Error, cudaSetDeviceFlags, unsigned flags) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDevicePrimaryCtxSetFlags, current_device(driver), flags);
  });
}

CUVMM_EXPORT(Error, cudaGetDeviceFlags, unsigned* flags) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    int active = 0;
    return ask(driver.cuDevicePrimaryCtxGetState, current_device(driver), flags, &active);
  });
}

CUVMM_EXPORT(Error, cudaDeviceGetAttribute, int* value, int attribute, int device) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attribute),
               device);
  });
}

CUVMM_EXPORT(Error, cudaDeviceGetP2PAttribute, int* value, int attribute, int from, int to) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDeviceGetP2PAttribute, value, static_cast<CUdevice_P2PAttribute>(attribute),
               from, to);
  });
}

CUVMM_EXPORT(Error, cudaDeviceGetByPCIBusId, int* device, const char* bus) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDeviceGetByPCIBusId, device, bus);
  });
}

CUVMM_EXPORT(Error, cudaDeviceGetPCIBusId, char* bus, int length, int device) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDeviceGetPCIBusId, bus, length, device);
  });
}

CUVMM_RUNTIME_CALL(cudaDeviceGetLimit, (value, limit), std::size_t* value, int limit) {
  return ask(driver.cuCtxGetLimit, value, static_cast<CUlimit>(limit));
}

CUVMM_RUNTIME_CALL(cudaDeviceSetLimit, (limit, value), int limit, std::size_t value) {
  return ask(driver.cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}

CUVMM_RUNTIME_CALL(cudaDeviceGetStreamPriorityRange, (least, greatest), int* least, int* greatest) {
  return ask(driver.cuCtxGetStreamPriorityRange, least, greatest);
}

CUVMM_EXPORT(Error, cudaDeviceCanAccessPeer, int* can, int device, int peer) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    return ask(driver.cuDeviceCanAccessPeer, can, device, peer);
  });
}

CUVMM_RUNTIME_CALL(cudaDeviceEnablePeerAccess, (peer, flags), int peer, unsigned flags) {
  CUcontext context = nullptr;
  const Error error = primary_context(driver, peer, context);
  return error == cudaSuccess ? ask(driver.cuCtxEnablePeerAccess, context, flags) : error;
}

CUVMM_RUNTIME_CALL(cudaDeviceDisablePeerAccess, (peer), int peer) {
  CUcontext context = nullptr;
  const Error error = primary_context(driver, peer, context);
  return error == cudaSuccess ? ask(driver.cuCtxDisablePeerAccess, context) : error;
}

CUVMM_RUNTIME_CALL(cudaDeviceGetCacheConfig, (wish), int* wish) {
  return ask(driver.cuCtxGetCacheConfig, reinterpret_cast<CUfunc_cache*>(wish));
}
CUVMM_RUNTIME_CALL(cudaDeviceSetCacheConfig, (wish), int wish) {
  return ask(driver.cuCtxSetCacheConfig, static_cast<CUfunc_cache>(wish));
}

// Nothing lies in a cache here.
CUVMM_EXPORT(Error, cudaCtxResetPersistingL2Cache) {
  return in_context(Streams::kLegacy, [](const Driver&) { return cudaSuccess; });
}

// Devices of today have banks of four bytes, and ignore the wish for others.
CUVMM_RUNTIME_CALL(cudaDeviceGetSharedMemConfig, (bank), int* bank) {
  constexpr int kFourBytes = 1;
  if (!bank) return cudaErrorInvalidValue;
  *bank = kFourBytes;
  return cudaSuccess;
}
CUVMM_RUNTIME_CALL(cudaDeviceSetSharedMemConfig, (bank), int bank) {
  constexpr int kEightBytes = 2;
  return bank < 0 || bank > kEightBytes ? cudaErrorInvalidValue : cudaSuccess;
}

// All emulated devices are of one kind, so that the first suits as well as any.
CUVMM_EXPORT(Error, cudaChooseDevice, int* device, const void* wanted) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    int count = 0;
    if (!device || !wanted) return cudaErrorInvalidValue;
    const Error error = ask(driver.cuDeviceGetCount, &count);
    if (error == cudaSuccess && count == 0) return cudaErrorNoDevice;
    *device = 0;
    return error;
  });
}

}  // namespace cuvmm::runtime
