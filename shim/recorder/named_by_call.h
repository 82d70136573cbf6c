// SPDX-License-Identifier: Apache-2.0
// The objects that a call names, for the recorders of made or changed objects.
#pragma once

#include <cstdint>
#include <type_traits>

#include "api/calls.h"
#include "rulebook/objects/objects.h"

namespace cuvmm::shim {

/// The objects that a call names and may have made or changed, by the kinds of its parameters. 0:
/// none.
struct NamedByCall {
  Address made = 0;  ///< written by the driver, or registered
  Address range = 0;
  Size size = 0;  ///< of `range`
  Handle handle = 0;
  int fd = -1;

  template <class T>
  void operator()(ParameterKind kind, const char*, T value) {
    using K = ParameterKind;
    if constexpr (std::is_pointer_v<T> && !std::is_void_v<std::remove_pointer_t<T>>) {
      if (!value) return;
      using Pointee = std::remove_cv_t<std::remove_pointer_t<T>>;
      if constexpr (std::is_same_v<Pointee, void*>) {
        if (kind == K::kHostOut) made = reinterpret_cast<std::uintptr_t>(*value);
      } else if constexpr (std::is_same_v<Pointee, std::uint64_t> ||
                           std::is_same_v<Pointee, CUdeviceptr>) {
        if (kind == K::kOutAddress) made = *value;
        if (kind == K::kOutHandle) handle = *value;
      }
    } else if constexpr (std::is_pointer_v<T>) {
      if (kind == K::kHostIn) made = reinterpret_cast<std::uintptr_t>(value);
    } else if constexpr (std::is_integral_v<T>) {
      if (kind == K::kAddress) range = value;
      if (kind == K::kSize) size = value;
      if (kind == K::kHandle) handle = value;
    }
  }
};

/// The objects that the call names, with the descriptor that an export has written.
template <class CallStruct>
NamedByCall named_by(const CallStruct& call) {
  NamedByCall named;
  call.visit(named);
  if constexpr (requires { call.shareableHandle; }) {
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
      named.fd = *static_cast<const int*>(call.shareableHandle);
  }
  return named;
}

}  // namespace cuvmm::shim
