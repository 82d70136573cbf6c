// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/failing.h"

#include <atomic>

#include "fuzz/machine/op_calls.h"

namespace cuvmm::fuzz {

namespace {

std::atomic<unsigned> left{0};  // calls until the call that fails, with that call; 0: none fails
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

}  // namespace

Driver failing(const Driver& driver) {
  Driver out = driver;
  each_op_call([&]<Code, class CallStruct> {
    if constexpr (CallStruct::kIntercepted) lead<CallStruct>(out);
  });
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
