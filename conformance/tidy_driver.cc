#include "conformance/tidy_driver.h"

#include <set>
#include <vector>

#include "spec/model.h"

namespace cuvmm {

namespace {

struct Recorder {
  Driver driver;
  Model model;
  std::set<CUdeviceptr> plain;  ///< from cuMemAlloc
};

Recorder& recorder() {
  static Recorder instance;
  return instance;
}

// What a call that succeeded made or ended.
template <class CallStruct>
void record(Recorder& r, const CallStruct& call) {
  if constexpr (requires { r.model.commit(call, Facts{}, Origin{}); }) {
    r.model.commit(call, Facts{}, Origin{});
  } else if constexpr (requires { r.model.commit(call, Allocation{}, Origin{}); }) {
    r.model.commit(call, Allocation{}, Origin{});
  } else if constexpr (requires { r.model.commit(call, Origin{}); }) {
    r.model.commit(call, Origin{});
  } else if constexpr (requires { r.model.retire(call); }) {
    r.model.bury(r.model.retire(call), Origin{});
  }
}
void record(Recorder& r, const calls::MemAlloc& call) { r.plain.insert(*call.dptr); }
void record(Recorder& r, const calls::MemFree& call) { r.plain.erase(call.dptr); }
void record(Recorder& r, const calls::MemFreeAsync& call) { r.plain.erase(call.dptr); }

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
  replace<calls::MemFree>(table);
  replace<calls::MemFreeAsync>(table);
  return table;
}

void tidy_up() {
  Recorder& r = recorder();
  // Fills and copies may still run: unmapping under them would break the context for all that
  // follow.
  r.driver(calls::CtxSynchronize{});
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
  CUcontext context = nullptr;
  if (r.driver(calls::DevicePrimaryCtxRetain{.ctx = &context, .dev = 0}) == CUDA_SUCCESS) {
    r.driver(calls::CtxSetCurrent{.ctx = context});
  }
  for (CUdeviceptr address : r.plain) r.driver(calls::MemFree{.dptr = address});
  r.plain.clear();
  r.model.clear();
}

}  // namespace cuvmm
