// SPDX-License-Identifier: Apache-2.0
// MockDriver: a libcuda of GoogleMock methods, one per entry point, as a Driver table.
//
//   MockDriver mock;
//   EXPECT_CALL(mock, MemRelease(7)).WillOnce(Return(CUDA_SUCCESS));
//   mock.driver()(calls::MemRelease{.handle = 7});
//
// Methods have no "cu" in front, as in entry_points.def. Every symbol of an entry point leads to
// one method, so the mock also sees calls of a per-thread variant. Only one MockDriver may live at
// a time.
//
// The mock methods take long to compile. mock_driver.cc defines them, so that they are compiled
// once; a test that includes this header only pays for the methods that it names.
#pragma once

#include <gmock/gmock.h>

#include <cstddef>
#include <memory>

#include "api/driver/driver.h"

namespace cuvmm {

class MockDriver {
 public:
  MockDriver();
  ~MockDriver();
  MockDriver(const MockDriver&) = delete;
  MockDriver& operator=(const MockDriver&) = delete;

  /// The table whose functions call this mock's methods.
  const Driver& driver() const { return driver_; }
  /// The function that dlsym() would give for a symbol of the entry point.
  static Driver::AnyFunction trampoline(EntryPoint entry);

// EXPECT_CALL and ON_CALL need two forms: with a matcher for each argument, and without any.
#define CUVMM_MOCK_TYPE(kind, type, name) , type
#define CUVMM_MOCK_MATCHER(kind, type, name) , const ::testing::Matcher<type>& name
#define CUVMM_ENTRY(Name, area, ...)                                                              \
  using Name##Type = CUresult CUVMM_MOCK_LIST(void CUVMM_FOR_EACH(CUVMM_MOCK_TYPE, __VA_ARGS__)); \
  ::testing::MockSpec<Name##Type> gmock_##Name CUVMM_MOCK_LIST(                                   \
      void CUVMM_FOR_EACH(CUVMM_MOCK_MATCHER, __VA_ARGS__));                                      \
  ::testing::MockSpec<Name##Type> gmock_##Name(const ::testing::internal::WithoutMatchers&,       \
                                               std::nullptr_t);
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
// Drops the leading void, which absorbs a comma, and adds parentheses.
#define CUVMM_MOCK_LIST(...) CUVMM_MOCK_LIST_OF(__VA_ARGS__)
#define CUVMM_MOCK_LIST_OF(first, ...) (__VA_ARGS__)
#include "api/entry_points.def"
#undef CUVMM_MOCK_TYPE
#undef CUVMM_MOCK_MATCHER
#undef CUVMM_MOCK_LIST
#undef CUVMM_MOCK_LIST_OF

 private:
  struct Methods;
  static MockDriver* current_;
  friend struct MockTrampolines;
  const std::unique_ptr<Methods> methods_;
  Driver driver_;
};

}  // namespace cuvmm
