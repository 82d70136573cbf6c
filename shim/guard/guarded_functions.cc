// SPDX-License-Identifier: Apache-2.0
// The guard's functions in the driver's table.
#include <atomic>
#include <exception>
#include <string_view>

#include "shim/guard/guard.h"
#include "shim/output/output.h"

namespace cuvmm::shim {

namespace {

// The program's call is made even if the guard runs out of memory; then the guard no longer knows
// all ranges.
template <class Make>
CUresult made(Make&& make) {
  try {
    return make();
  } catch (const std::exception&) {
    say("out of memory: guards may not be where they belong");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

template <class CallStruct, class Function>
struct ByGuard;
template <class CallStruct, class... Args>
struct ByGuard<CallStruct, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args... args) {
    return made([&] { return g_guard.load(std::memory_order_acquire)->make(CallStruct{args...}); });
  }
};

// The driver's exported function, behind a function of the guard that counts captures.
template <Symbol symbol>
Driver::AnyFunction behind = nullptr;

template <Symbol symbol, class CallStruct, class Function>
struct Counting;
template <Symbol symbol, class CallStruct, class... Args>
struct Counting<symbol, CallStruct, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args... args) {
    using Function = typename CallStruct::Function;
    const CallStruct made_call{args...};
    Poison& poison = g_guard.load(std::memory_order_acquire)->poison();
    constexpr bool kEnds = CallStruct::kEntryPoint == EntryPoint::kStreamEndCapture ||
                           CallStruct::kEntryPoint == EntryPoint::kStreamDestroy;
    const CUresult result = made_call.invoke(reinterpret_cast<Function>(behind<symbol>));
    return made([&] {
      if constexpr (kEnds) {
        poison.captured(made_call.hStream);
      } else {
        if (result == CUDA_SUCCESS) poison.capturing(made_call.hStream);
      }
      return result;
    });
  }
};

template <class CallStruct>
void lead(Driver& table) {
  if (!table.function<CallStruct>()) return;  // a function that the driver lacks stays missing
  using ByCall = ByGuard<CallStruct, typename CallStruct::Function>;
  table.set(Driver::primary_symbol(CallStruct::kEntryPoint),
            reinterpret_cast<Driver::AnyFunction>(&ByCall::call));
}

template <Symbol symbol, class CallStruct>
void count(Driver& table) {
  behind<symbol> = table.get(symbol);
  if (!behind<symbol>) return;
  using Here = Counting<symbol, CallStruct, typename CallStruct::Function>;
  table.set(symbol, reinterpret_cast<Driver::AnyFunction>(&Here::call));
}

std::atomic<Guard::Attributes> attributes_behind{nullptr};

CUresult attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return made([&] {
    return g_guard.load(std::memory_order_acquire)
        ->make(calls::PointerGetAttribute{data, attribute, address});
  });
}
CUresult all_attributes(unsigned count, CUpointer_attribute* attributes, void** data,
                        CUdeviceptr address) {
  return made([&] {
    return g_guard.load(std::memory_order_acquire)
        ->make(attributes_behind.load(), count, attributes, data, address);
  });
}

}  // namespace

void lead_to_guard(Driver& table) {
  lead<calls::MemAddressReserve>(table);
  lead<calls::MemAddressFree>(table);
  lead<calls::MemMap>(table);
  lead<calls::MemUnmap>(table);
  lead<calls::MemSetAccess>(table);
  lead<calls::MemCreate>(table);
  lead<calls::MemRelease>(table);
  lead<calls::MemRetainAllocationHandle>(table);
  lead<calls::MemImportFromShareableHandle>(table);
  lead<calls::MemExportToShareableHandle>(table);
  lead<calls::MemGetHandleForAddressRange>(table);
  lead<calls::MulticastBindMem>(table);
  lead<calls::MulticastBindMem_v2>(table);
  lead<calls::MulticastBindAddr>(table);
  lead<calls::MulticastBindAddr_v2>(table);
  lead<calls::MemGetAddressRange>(table);
  lead<calls::PointerGetAttribute>(table);
  count<Symbol::k_cuStreamBeginCapture_v2, calls::StreamBeginCapture>(table);
  count<Symbol::k_cuStreamBeginCapture_v2_ptsz, calls::StreamBeginCapture>(table);
  count<Symbol::k_cuStreamBeginCaptureToGraph, calls::StreamBeginCaptureToGraph>(table);
  count<Symbol::k_cuStreamBeginCaptureToGraph_ptsz, calls::StreamBeginCaptureToGraph>(table);
  count<Symbol::k_cuStreamEndCapture, calls::StreamEndCapture>(table);
  count<Symbol::k_cuStreamEndCapture_ptsz, calls::StreamEndCapture>(table);
  count<Symbol::k_cuStreamDestroy_v2, calls::StreamDestroy>(table);
  count<Symbol::k_cuStreamDestroy, calls::StreamDestroy>(table);
}

void* guarded_function(const char* name, void* driver_function) {
  if (!driver_function || !g_guard.load(std::memory_order_acquire)) return nullptr;
  const std::string_view asked = name;
  if (asked == "cuPointerGetAttribute") return reinterpret_cast<void*>(&attribute);
  if (asked == "cuPointerGetAttributes") {
    attributes_behind.store(reinterpret_cast<Guard::Attributes>(driver_function));
    return reinterpret_cast<void*>(&all_attributes);
  }
  return nullptr;
}

}  // namespace cuvmm::shim
