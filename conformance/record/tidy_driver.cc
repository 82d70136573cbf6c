// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/tidy_driver.h"

#include <set>
#include <vector>

#include "rulebook/model/model.h"

namespace cuvmm::conformance {

namespace {

struct Recorder {
  Driver driver;
  Model model;
  std::multiset<CUdeviceptr> opened;  ///< from cuIpcOpenMemHandle
  std::set<CUdevice> pool_set;        ///< devices whose current pool was changed
};

Recorder& recorder() {
  static Recorder instance;
  return instance;
}

// Records the objects that a successful call made or ended.
template <class CallStruct>
void record(Recorder& r, const CallStruct& call) {
  ChangeOf<CallStruct> change;
  r.model.begin(call, {}, change);
  r.model.confirm(call, {}, {}, change);
}
void record(Recorder& r, const calls::IpcOpenMemHandle& call) { r.opened.insert(*call.pdptr); }
void record(Recorder& r, const calls::IpcCloseMemHandle& call) {
  if (const auto found = r.opened.find(call.dptr); found != r.opened.end()) r.opened.erase(found);
}
void record(Recorder& r, const calls::DeviceSetMemPool& call) { r.pool_set.insert(call.dev); }

template <class CallStruct, class Function>
struct Forward;
template <class CallStruct, class... Args>
struct Forward<CallStruct, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args... args) {
    const CallStruct call{args...};
    const CUresult result = recorder().driver(call);
    if (result == CUDA_SUCCESS) record(recorder(), call);
    return result;
  }
};

template <class CallStruct>
void replace(Driver& table) {
  table.set(Driver::primary_symbol(CallStruct::kEntryPoint),
            reinterpret_cast<Driver::AnyFunction>(
                &Forward<CallStruct, typename CallStruct::Function>::call));
}

void free(const Driver& driver, const PlainMemory& memory) {
  void* const host = reinterpret_cast<void*>(memory.base);
  if (memory.freed_as_device()) {
    driver(calls::MemFree{.dptr = memory.base});
  } else if (memory.kind == PlainMemory::Kind::kHost) {
    driver(calls::MemFreeHost{.p = host});
  } else {
    driver(calls::MemHostUnregister{.p = host});
  }
}

}  // namespace

Driver tidy_driver(const Driver& driver) {
  recorder().driver = driver;
  Driver table = driver;
  replace<calls::MemAddressReserve>(table);
  replace<calls::MemAddressFree>(table);
  replace<calls::MemCreate>(table);
  replace<calls::MemRelease>(table);
  replace<calls::MemMap>(table);
  replace<calls::MemUnmap>(table);
  replace<calls::MemRetainAllocationHandle>(table);
  replace<calls::MemImportFromShareableHandle>(table);
  replace<calls::MemAlloc>(table);
  replace<calls::MemAllocPitch>(table);
  replace<calls::MemAllocManaged>(table);
  replace<calls::MemAllocAsync>(table);
  replace<calls::MemAllocHost>(table);
  replace<calls::MemHostAlloc>(table);
  replace<calls::MemFreeHost>(table);
  replace<calls::MemHostRegister>(table);
  replace<calls::MemHostUnregister>(table);
  replace<calls::MemFree>(table);
  replace<calls::MemFreeAsync>(table);
  replace<calls::DeviceSetMemPool>(table);
  replace<calls::IpcOpenMemHandle>(table);
  replace<calls::IpcCloseMemHandle>(table);
  replace<calls::Array3DCreate>(table);
  replace<calls::ArrayDestroy>(table);
  replace<calls::MipmappedArrayCreate>(table);
  replace<calls::MipmappedArrayGetLevel>(table);
  replace<calls::MipmappedArrayDestroy>(table);
  return table;
}

bool tidy_up() {
  Recorder& r = recorder();
  CUcontext context = nullptr;
  if (r.driver(calls::DevicePrimaryCtxRetain{.ctx = &context, .dev = 0}) == CUDA_SUCCESS) {
    r.driver(calls::CtxSetCurrent{.ctx = context});
  }
  // Fills and copies may still run, and unmapping their memory would break the context for all
  // later cases. A broken context answers every call with an error.
  if (r.driver(calls::CtxSynchronize{}) != CUDA_SUCCESS) return false;
  for (const auto& [handle, array] : r.model.arrays().all()) {
    if (array.parent != 0) continue;
    if (array.mipmapped) {
      r.driver(calls::MipmappedArrayDestroy{reinterpret_cast<CUmipmappedArray>(handle)});
    } else {
      r.driver(calls::ArrayDestroy{reinterpret_cast<CUarray>(handle)});
    }
  }
  for (const auto& [base, m] : r.model.mappings()) {
    r.driver(calls::MemUnmap{.ptr = base, .size = m.size});
  }
  for (const auto& [handle, a] : r.model.allocations()) {
    for (std::uint32_t i = 0; i < a.references; ++i) {
      r.driver(calls::MemRelease{.handle = handle});
    }
  }
  for (const auto& [base, reservation] : r.model.reservations()) {
    r.driver(calls::MemAddressFree{.ptr = base, .size = reservation.size});
  }
  for (const CUdevice device : r.pool_set) {
    CUmemoryPool pool = nullptr;
    if (r.driver(calls::DeviceGetDefaultMemPool{.pool_out = &pool, .dev = device}) == CUDA_SUCCESS)
      r.driver(calls::DeviceSetMemPool{.dev = device, .pool = pool});
  }
  r.pool_set.clear();
  for (CUdeviceptr address : r.opened) r.driver(calls::IpcCloseMemHandle{.dptr = address});
  r.opened.clear();
  for (const auto& [base, memory] : r.model.memory().all()) free(r.driver, memory);
  for (const auto& [base, memory] : r.model.pools().memory()) {
    r.driver(calls::MemFree{.dptr = base});
  }
  r.model.clear();
  return true;
}

}  // namespace cuvmm::conformance
