// SPDX-License-Identifier: Apache-2.0
#include "api/driver/mock_driver.h"

#include <cstdlib>
#include <utility>

namespace cuvmm {

MockDriver* MockDriver::current_ = nullptr;

// The members that MOCK_METHOD would write. Their owner is the MockDriver, because NiceMock and
// StrictMock know its address.
struct MockDriver::Methods {
#define CUVMM_ENTRY(Name, area, ...) ::testing::FunctionMocker<MockDriver::Name##Type> Name;
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
};

#define CUVMM_MOCK_MATCHER(kind, type, name) , const ::testing::Matcher<type>& name
#define CUVMM_MOCK_NAME(kind, type, name) , name
#define CUVMM_MOCK_ANY(kind, type, name) , ::testing::A<type>()
// Drops the leading void, which absorbs a comma, and adds parentheses.
#define CUVMM_MOCK_LIST(...) CUVMM_MOCK_LIST_OF(__VA_ARGS__)
#define CUVMM_MOCK_LIST_OF(first, ...) (__VA_ARGS__)
#define CUVMM_ENTRY(Name, area, ...)                                                               \
  ::testing::MockSpec<MockDriver::Name##Type> MockDriver::gmock_##Name CUVMM_MOCK_LIST(            \
      void CUVMM_FOR_EACH(CUVMM_MOCK_MATCHER, __VA_ARGS__)) {                                      \
    methods_->Name.RegisterOwner(this);                                                            \
    return methods_->Name.With CUVMM_MOCK_LIST(void CUVMM_FOR_EACH(CUVMM_MOCK_NAME, __VA_ARGS__)); \
  }                                                                                                \
  ::testing::MockSpec<MockDriver::Name##Type> MockDriver::gmock_##Name(                            \
      const ::testing::internal::WithoutMatchers&, std::nullptr_t) {                               \
    return gmock_##Name CUVMM_MOCK_LIST(void CUVMM_FOR_EACH(CUVMM_MOCK_ANY, __VA_ARGS__));         \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"

// One static function per entry point, with the C signature. The compiler deduces the parameters
// from the address of the mock method.
struct MockTrampolines {
#define CUVMM_ENTRY(Name, area, ...)                                 \
  template <class... Args>                                           \
  static CUresult CUDAAPI Name(Args... args) {                       \
    MockDriver* const mock = MockDriver::current_;                   \
    if (!mock) return CUDA_ERROR_DEINITIALIZED;                      \
    mock->methods_->Name.SetOwnerAndName(mock, #Name);               \
    return mock->methods_->Name.Invoke(std::forward<Args>(args)...); \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"

  template <class Function>
  static Driver::AnyFunction as_any(Function function) {
    return reinterpret_cast<Driver::AnyFunction>(function);
  }
};

MockDriver::MockDriver() : methods_(std::make_unique<Methods>()) {
  if (current_) std::abort();  // two mocks would answer each other's calls
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
