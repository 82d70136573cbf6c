// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/failing.h"

#include <atomic>

namespace cuvmm::fuzz {

namespace {

std::atomic<unsigned> left{0};  // calls up to and with the one that fails; 0: none does
std::atomic<unsigned> made{0};
std::atomic<bool> struck{false};

// Only one thread of a program runs at a time.
bool strikes() {
  ++made;
  if (left == 0 || --left != 0) return false;
  struck = true;
  return true;
}

template <EntryPoint, class Function>
struct Toll;
template <EntryPoint entry, class... Args>
struct Toll<entry, CUresult(CUDAAPI*)(Args...)> {
  static inline CUresult(CUDAAPI* real)(Args...) = nullptr;
  static CUresult CUDAAPI call(Args... args) {
    return strikes() ? CUDA_ERROR_OUT_OF_MEMORY : real(args...);
  }
};

template <class CallStruct>
void lead(Driver& driver) {
  using Way = Toll<CallStruct::kEntryPoint, typename CallStruct::Function>;
  const auto real = driver.function<CallStruct>();
  if (!real) return;
  if (real != &Way::call) Way::real = real;
  driver.set(Driver::primary_symbol(CallStruct::kEntryPoint),
             reinterpret_cast<Driver::AnyFunction>(&Way::call));
}

template <class... CallStructs>
void lead_all(Driver& driver) {
  (lead<CallStructs>(driver), ...);
}

}  // namespace

Driver failing(const Driver& driver) {
  Driver out = driver;
  lead_all<calls::MemAddressReserve, calls::MemAddressFree, calls::MemCreate, calls::MemRelease,
           calls::MemMap, calls::MemUnmap, calls::MemSetAccess, calls::MemGetAccess,
           calls::MemExportToShareableHandle, calls::MemImportFromShareableHandle,
           calls::MemGetAllocationGranularity, calls::MemGetAllocationPropertiesFromHandle,
           calls::MemRetainAllocationHandle, calls::MemGetHandleForAddressRange, calls::MemsetD8,
           calls::MemsetD16, calls::MemsetD32, calls::MemcpyDtoH, calls::MemcpyHtoD,
           calls::MemcpyDtoD, calls::MemFree, calls::ImportExternalMemory,
           calls::ExternalMemoryGetMappedBuffer, calls::DestroyExternalMemory,
           calls::MulticastCreate, calls::MulticastAddDevice, calls::MulticastBindMem,
           calls::MulticastBindAddr, calls::MulticastUnbind, calls::MulticastGetGranularity,
           calls::MemPoolCreate, calls::MemPoolDestroy, calls::MemAllocFromPoolAsync,
           calls::MemFreeAsync, calls::MemPoolSetAccess, calls::DeviceSetMemPool,
           calls::MemPoolExportToShareableHandle, calls::MemPoolImportFromShareableHandle,
           calls::MemPoolExportPointer, calls::MemPoolImportPointer, calls::IpcGetMemHandle,
           calls::IpcOpenMemHandle, calls::IpcCloseMemHandle>(out);
  return out;
}

void fail_call(unsigned k) {
  left = k;
  struck = false;
  made = 0;
}

bool call_failed() { return struck; }
unsigned calls_made() { return made; }

}  // namespace cuvmm::fuzz
