// MockDriver: a libcuda of GoogleMock methods, one per entry point, as a Driver table.
//
//   MockDriver mock;
//   EXPECT_CALL(mock, MemRelease(7)).WillOnce(Return(CUDA_SUCCESS));
//   mock.driver()(calls::MemRelease{.handle = 7});
//
// Methods carry no "cu", as in entry_points.def. Every symbol of an entry point leads to its one
// method, so a per-thread variant is seen too. One MockDriver may live at a time.
#pragma once

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>

#include "api/driver.h"

namespace cuvmm {

class MockDriver {
 public:
  MockDriver() {
    if (current_) std::abort();  // two at a time would answer each other's calls
    current_ = this;
    for (const SymbolInfo& info : symbols()) {
      if (info.entry != EntryPoint::kCount) driver_.set(info.symbol, trampoline(info.entry));
    }
  }
  ~MockDriver() { current_ = nullptr; }
  MockDriver(const MockDriver&) = delete;
  MockDriver& operator=(const MockDriver&) = delete;

  /// The table whose functions call this mock's methods.
  const Driver& driver() const { return driver_; }
  /// The function that a symbol's dlsym would give.
  static Driver::AnyFunction trampoline(EntryPoint entry) {
    switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return as_any(static_cast<calls::Name::Function>(&Trampoline_##Name::call));
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
      default:
        return nullptr;
    }
  }

#define CUVMM_MOCK_TYPE(kind, type, name) , type
#define CUVMM_ENTRY(Name, area, ...) \
  MOCK_METHOD(CUresult, Name, CUVMM_MOCK_TYPES(void CUVMM_FOR_EACH(CUVMM_MOCK_TYPE, __VA_ARGS__)));
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
// Drops the leading void that absorbs a comma, and parenthesises.
#define CUVMM_MOCK_TYPES(...) CUVMM_MOCK_TYPES_OF(__VA_ARGS__)
#define CUVMM_MOCK_TYPES_OF(first, ...) (__VA_ARGS__)
#include "api/entry_points.def"
#undef CUVMM_MOCK_TYPE
#undef CUVMM_MOCK_TYPES
#undef CUVMM_MOCK_TYPES_OF

 private:
  template <class Function>
  static Driver::AnyFunction as_any(Function function) {
    return reinterpret_cast<Driver::AnyFunction>(function);
  }

// A static function per entry point with the C signature; the address of a template member of the
// mock method deduces the parameters.
#define CUVMM_ENTRY(Name, area, ...)                                        \
  struct Trampoline_##Name {                                                \
    template <class... Args>                                                \
    static CUresult CUDAAPI call(Args... args) {                            \
      return current_ ? current_->Name(args...) : CUDA_ERROR_DEINITIALIZED; \
    }                                                                       \
  };
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"

  inline static MockDriver* current_ = nullptr;
  Driver driver_;
};

}  // namespace cuvmm
