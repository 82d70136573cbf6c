// SPDX-License-Identifier: Apache-2.0
// MockDriver: a libcuda of GoogleMock methods, one per entry point, as a Driver table.
//
//   MockDriver mock;
//   EXPECT_CALL(mock, MemRelease(7)).WillOnce(Return(CUDA_SUCCESS));
//   mock.driver()(calls::MemRelease{.handle = 7});
//
// Methods carry no "cu", as in entry_points.def. Every symbol of an entry point leads to its one
// method, so a per-thread variant is seen too. One MockDriver may live at a time.
//
// What takes long to compile (a mocker per entry point) is in mock_driver.cc, compiled once.
#pragma once

#include <gmock/gmock.h>

#include "api/driver.h"

namespace cuvmm {

class MockDriver {
 public:
  MockDriver();
  ~MockDriver();
  MockDriver(const MockDriver&) = delete;
  MockDriver& operator=(const MockDriver&) = delete;

  /// The table whose functions call this mock's methods.
  const Driver& driver() const { return driver_; }
  /// The function that a symbol's dlsym would give.
  static Driver::AnyFunction trampoline(EntryPoint entry);

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
  static MockDriver* current_;
  friend struct MockTrampolines;
  Driver driver_;
};

}  // namespace cuvmm
