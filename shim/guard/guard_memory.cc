// SPDX-License-Identifier: Apache-2.0
// Memory: which processes may see it, and its contents at first.
#include <algorithm>
#include <cerrno>

#include "shim/guard/guard.h"

namespace cuvmm::shim {

CUresult Guard::make(const calls::MemCreate& call) {
  const CUresult result = driver_(call);
  if (result == CUDA_SUCCESS) {
    const Locked lock(mutex_);
    memories_.created(*call.handle);
  }
  return result;
}

CUresult Guard::make(const calls::MemImportFromShareableHandle& call) {
  const CUresult result = driver_(call);
  if (result == CUDA_SUCCESS) {
    const Locked lock(mutex_);
    memories_.imported(*call.handle);
  }
  return result;
}

CUresult Guard::make(const calls::MemRetainAllocationHandle& call) {
  const CUresult result = driver_(call);
  if (result == CUDA_SUCCESS) {
    const Locked lock(mutex_);
    memories_.retained(*call.handle, reinterpret_cast<std::uintptr_t>(call.addr));
  }
  return result;
}

// The handle is forgotten before the call, because the driver may return the value again at once
// for other memory.
CUresult Guard::make(const calls::MemRelease& call) {
  std::shared_ptr<Memory> memory;
  {
    const Locked lock(mutex_);
    memory = memories_.find(call.handle);
    memories_.released(call.handle);
  }
  const CUresult result = driver_(call);
  if (result != CUDA_SUCCESS && memory) {
    const Locked lock(mutex_);
    memories_.restore(call.handle, memory);
  }
  return result;
}

// Noted before the call, because another process may write as soon as the descriptor exists.
template <class CallStruct>
CUresult Guard::share(const CallStruct& call, std::uint64_t handle) {
  {
    const Locked lock(mutex_);
    memories_.share(handle);
  }
  return driver_(call);
}

template <class CallStruct>
CUresult Guard::share_range(const CallStruct& call) {
  {
    const Locked lock(mutex_);
    memories_.share_mapped(call.memptr, call.size);
  }
  return driver_(call);
}

CUresult Guard::make(const calls::MemExportToShareableHandle& call) {
  return share(call, call.handle);
}
CUresult Guard::make(const calls::MemGetHandleForAddressRange& call) {
  {
    const Locked lock(mutex_);
    memories_.share_mapped(call.dptr, call.size);
  }
  return driver_(call);
}
CUresult Guard::make(const calls::MulticastBindMem& call) { return share(call, call.memHandle); }
CUresult Guard::make(const calls::MulticastBindMem_v2& call) { return share(call, call.memHandle); }
CUresult Guard::make(const calls::MulticastBindAddr& call) { return share_range(call); }
CUresult Guard::make(const calls::MulticastBindAddr_v2& call) { return share_range(call); }

CUresult Guard::make(const calls::MemSetAccess& call) {
  const CUresult result = driver_(call);
  if (result != CUDA_SUCCESS) return result;
  std::vector<MappedMemory> fresh;
  {
    const Locked lock(mutex_);
    for (MappedMemory& mapped : memories_.inside(call.ptr, call.size)) {
      if (!mapped.memory || mapped.memory->settled) continue;
      // From here on the program may have written to the memory.
      mapped.memory->settled = true;
      if (!mapped.memory->shared) fresh.push_back(std::move(mapped));
    }
  }
  if (options_.poison && !fresh.empty()) poison_new(fresh, call);
  return result;
}

void Guard::poison_new(const std::vector<MappedMemory>& mappings, const calls::MemSetAccess& call) {
  const int device = poison_.device();
  const bool may_write =
      std::any_of(call.desc, call.desc + call.count, [device](const CUmemAccessDesc& access) {
        return static_cast<int>(access.location.type) == CU_MEM_LOCATION_TYPE_DEVICE &&
               access.location.id == device && access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      });
  for (const MappedMemory& mapped : mappings) {
    if (may_write) {
      poison_.fill(mapped.base, mapped.size, Poison::kNew);
    } else {
      poison_.leave();
    }
  }
}

}  // namespace cuvmm::shim
