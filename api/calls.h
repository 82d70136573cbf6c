// SPDX-License-Identifier: Apache-2.0
// One plain struct per entry point, whose fields are the C parameters in order; and Call, which
// holds any of them.
//
// calls::MemMap{.ptr = p, .size = n, .handle = h} is a call of cuMemMap. The caller owns the
// pointers: an out-parameter is a place to write to, and may be read only after the call succeeded.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <new>
#include <type_traits>

#include "api/for_each.h"
#include "api/newer/copies.h"
#include "api/newer/endpoint.h"
#include "api/parameter_kind.h"

namespace cuvmm {

/// Every function in entry_points.def, intercepted or not, in its order.
enum class EntryPoint {
#define CUVMM_ENTRY(name, area, ...) k##name,
#define CUVMM_BASE(name, ...) k##name,
#include "api/entry_points.def"
  kCount
};

namespace calls {

// Each struct has its entry point, whether the shim intercepts it, how to call it through a
// function pointer, and how to visit its fields: visit(f) calls f(kind, "name", field) in order.
#define CUVMM_TYPE(kind, type, name) , type
#define CUVMM_FIELD(kind, type, name) type name{};
#define CUVMM_VISIT(kind, type, name) visitor(ParameterKind::k##kind, #name, name);
#define CUVMM_VALUE(kind, type, name) , name
#define CUVMM_CALL_STRUCT(Name, intercepted, ...)                                       \
  struct Name {                                                                         \
    static constexpr EntryPoint kEntryPoint = EntryPoint::k##Name;                      \
    static constexpr bool kIntercepted = intercepted;                                   \
    static constexpr const char* kName = "cu" #Name;                                    \
    using Function = Signature<void CUVMM_FOR_EACH(CUVMM_TYPE, __VA_ARGS__)>::Function; \
    CUVMM_FOR_EACH(CUVMM_FIELD, __VA_ARGS__)                                            \
    CUresult invoke([[maybe_unused]] Function function) const {                         \
      return Signature<void CUVMM_FOR_EACH(CUVMM_TYPE, __VA_ARGS__)>::call(             \
          function CUVMM_FOR_EACH(CUVMM_VALUE, __VA_ARGS__));                           \
    }                                                                                   \
    template <class Visitor>                                                            \
    void visit([[maybe_unused]] Visitor&& visitor) const {                              \
      CUVMM_FOR_EACH(CUVMM_VISIT, __VA_ARGS__)                                          \
    }                                                                                   \
  };

/// Signature<void, A, B>::Function is CUresult (*)(A, B). The leading void absorbs a comma.
template <class Void, class... Args>
struct Signature {
  using Function = CUresult(CUDAAPI*)(Args...);
  static CUresult call(Function function, Args... args) { return function(args...); }
};

#define CUVMM_ENTRY(Name, area, ...) CUVMM_CALL_STRUCT(Name, true __VA_OPT__(, ) __VA_ARGS__)
#define CUVMM_BASE(Name, ...) CUVMM_CALL_STRUCT(Name, false __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"

#undef CUVMM_CALL_STRUCT
#undef CUVMM_VALUE
#undef CUVMM_VISIT
#undef CUVMM_FIELD
#undef CUVMM_TYPE

}  // namespace calls

/// Any call, for storage. Not a std::variant, because 250 structs would cost each source that sees
/// the variant a second of the compiler's time.
class Call {
 public:
  Call() = default;
  template <class CallStruct>
  requires requires { CallStruct::kEntryPoint; }
  // NOLINTNEXTLINE(google-explicit-constructor): a function that takes a Call takes any call
  Call(const CallStruct& call) : entry_(CallStruct::kEntryPoint) {
    static_assert(std::is_trivially_copyable_v<CallStruct>);
    static_assert(sizeof(CallStruct) <= sizeof bytes_ && alignof(CallStruct) <= alignof(Call));
    new (bytes_) CallStruct(call);
  }

  /// EntryPoint::kCount: the object holds no call.
  EntryPoint entry_point() const { return entry_; }
  /// The call as its own struct, or nullptr if it is another call.
  template <class CallStruct>
  const CallStruct* as() const {
    if (entry_ != CallStruct::kEntryPoint) return nullptr;
    return std::launder(reinterpret_cast<const CallStruct*>(bytes_));
  }

 private:
  alignas(8) unsigned char bytes_[128] = {};
  EntryPoint entry_ = EntryPoint::kCount;
};

/// "cuMemMap" for EntryPoint::kMemMap.
const char* name(EntryPoint entry);

/// Whether the shim intercepts it; cuvmm only calls the others.
bool intercepted(EntryPoint entry);

}  // namespace cuvmm
