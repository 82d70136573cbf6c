// SPDX-License-Identifier: Apache-2.0
// The whole life of a block: every VMM entry point once, in the order of an allocator.
#pragma once

#include <unistd.h>

#include "bench/measure/machine.h"

namespace cuvmm::bench {

/// Performs each call through `perform(call)`. `host`: 4 KiB that are copied into the block; null:
/// no copy, because the first byte in a block costs the emulator a file and page faults, which
/// leave the caches cold. Two granules are reserved and one is mapped. `slot` not 0: a reservation
/// of the caller (threads share one), which is used instead of a new one and not freed.
template <class Perform>
void live_once(Perform&& perform, void* host, CUdeviceptr slot = 0) {
  const CUmemAllocationProp prop = device_memory();
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAllocationProp seen{};
  std::size_t granularity = 0;
  unsigned long long flags = 0;
  CUdeviceptr ptr = slot;
  CUmemGenericAllocationHandle handle = 0;
  CUmemGenericAllocationHandle again = 0;
  perform(calls::MemGetAllocationGranularity{.granularity = &granularity, .prop = &prop});
  if (!slot) perform(calls::MemAddressReserve{.ptr = &ptr, .size = 2 * kGranule});
  perform(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop});
  perform(calls::MemGetAllocationPropertiesFromHandle{.prop = &seen, .handle = handle});
  perform(calls::MemMap{.ptr = ptr, .size = kGranule, .handle = handle});
  perform(calls::MemSetAccess{.ptr = ptr, .size = kGranule, .desc = &access, .count = 1});
  perform(calls::MemGetAccess{.flags = &flags, .location = &prop.location, .ptr = ptr});
  if (host) perform(calls::MemcpyHtoD{.dstDevice = ptr, .srcHost = host, .ByteCount = 4096});
  perform(calls::MemRetainAllocationHandle{.handle = &again, .addr = reinterpret_cast<void*>(ptr)});
  perform(calls::MemRelease{.handle = again});
  perform(calls::MemUnmap{.ptr = ptr, .size = kGranule});
  perform(calls::MemRelease{.handle = handle});
  if (!slot) perform(calls::MemAddressFree{.ptr = ptr, .size = 2 * kGranule});
}

/// Exports memory as a descriptor and imports it again.
template <class Perform>
void share_once(Perform&& perform) {
  const CUmemAllocationProp prop = device_memory(true);
  CUmemGenericAllocationHandle handle = 0;
  CUmemGenericAllocationHandle imported = 0;
  int fd = -1;
  perform(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop});
  perform(
      calls::MemExportToShareableHandle{.shareableHandle = &fd,
                                        .handle = handle,
                                        .handleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
  perform(calls::MemImportFromShareableHandle{
      .handle = &imported,
      .osHandle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
      .shHandleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
  ::close(fd);
  perform(calls::MemRelease{.handle = imported});
  perform(calls::MemRelease{.handle = handle});
}

/// The seven calls of the cycle that has a budget. They are timed together.
inline void cycle_once(const Driver& driver) {
  const CUmemAllocationProp prop = device_memory();
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr ptr = 0;
  CUmemGenericAllocationHandle handle = 0;
  must(driver(calls::MemAddressReserve{.ptr = &ptr, .size = kGranule}), "reserve");
  must(driver(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop}), "create");
  must(driver(calls::MemMap{.ptr = ptr, .size = kGranule, .handle = handle}), "map");
  must(driver(calls::MemSetAccess{.ptr = ptr, .size = kGranule, .desc = &access, .count = 1}),
       "access");
  must(driver(calls::MemUnmap{.ptr = ptr, .size = kGranule}), "unmap");
  must(driver(calls::MemRelease{.handle = handle}), "release");
  must(driver(calls::MemAddressFree{.ptr = ptr, .size = kGranule}), "free");
}

}  // namespace cuvmm::bench
