// SPDX-License-Identifier: Apache-2.0
#include "api/mock_driver.h"

#include <cstdlib>

namespace cuvmm {

MockDriver* MockDriver::current_ = nullptr;

// A static function per entry point with the C signature; the address of a template member of the
// mock method deduces the parameters.
struct MockTrampolines {
#define CUVMM_ENTRY(Name, area, ...)                                                              \
  template <class... Args>                                                                        \
  static CUresult CUDAAPI Name(Args... args) {                                                    \
    return MockDriver::current_ ? MockDriver::current_->Name(args...) : CUDA_ERROR_DEINITIALIZED; \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"

  template <class Function>
  static Driver::AnyFunction as_any(Function function) {
    return reinterpret_cast<Driver::AnyFunction>(function);
  }
};

MockDriver::MockDriver() {
  if (current_) std::abort();  // two at a time would answer each other's calls
  current_ = this;
  for (const SymbolInfo& info : symbols()) {
    if (info.entry != EntryPoint::kCount) driver_.set(info.symbol, trampoline(info.entry));
  }
}

MockDriver::~MockDriver() { current_ = nullptr; }

Driver::AnyFunction MockDriver::trampoline(EntryPoint entry) {
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return MockTrampolines::as_any(static_cast<calls::Name::Function>(&MockTrampolines::Name));
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
    default:
      return nullptr;
  }
}

}  // namespace cuvmm
