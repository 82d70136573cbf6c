// SPDX-License-Identifier: Apache-2.0
// A call as bytes, made in another process. The memory behind its pointers travels with it.
#pragma once

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "fuzz/machine/op_calls.h"

namespace cuvmm::fuzz {

/// Calls visit.operator()<CallStruct>() for each call that a peer can make: the calls of a starting
/// machine, a shim's own calls, and the calls of programs of two processes. Calls that can make or
/// use a multicast team are left out.
template <class Visit>
void each_remote_call(Visit&& visit) {
  const auto each = [&]<class... CallStructs>(std::tuple<CallStructs...>*) {
    static_assert(!(can_multicast_call<CallStructs> || ...));
    (visit.template operator()<CallStructs>(), ...);
  };
  each(static_cast<std::tuple<
           calls::Init, calls::DriverGetVersion, calls::DeviceGetCount, calls::DeviceGet,
           calls::DeviceGetAttribute, calls::DevicePrimaryCtxRetain, calls::DeviceCanAccessPeer,
           calls::CtxSetCurrent, calls::CtxGetCurrent, calls::CtxPushCurrent, calls::CtxPopCurrent,
           calls::CtxGetDevice, calls::CtxSynchronize, calls::MemGetInfo, calls::MemGetAddressRange,
           calls::PointerGetAttribute>*>(nullptr));
  each_op_call([&]<Code code, class CallStruct> {
    static_assert(!crosses(code) || !can_multicast_call<CallStruct>);
    if constexpr (crosses(code)) visit.template operator()<CallStruct>();
  });
}

namespace detail {

constexpr std::size_t kFabricHandle = 64;

/// The number of bytes behind a pointer parameter; 0 where the pointer is a plain number.
template <class CallStruct>
std::size_t bytes_behind(ParameterKind kind, const CallStruct& call, std::size_t pointee) {
  switch (kind) {
    case ParameterKind::kInProp:
    case ParameterKind::kInLocation:
    case ParameterKind::kOutAddress:
    case ParameterKind::kOutHandle:
    case ParameterKind::kOutSize:
    case ParameterKind::kOutFlags:
    case ParameterKind::kOutInt:
    case ParameterKind::kOutContext:
    case ParameterKind::kOutProp:
    case ParameterKind::kOutBlob:
      return pointee;
    case ParameterKind::kInAccess:
      if constexpr (requires { call.desc; }) return call.count * pointee;
      return 0;
    case ParameterKind::kHostIn:
    case ParameterKind::kHostOut:
      if constexpr (requires { call.ByteCount; }) return call.ByteCount;
      return 0;
    case ParameterKind::kOutShareable:
      if constexpr (requires { call.shareableHandle; }) {
        return call.handleType == CU_MEM_HANDLE_TYPE_FABRIC ? kFabricHandle : sizeof(int);
      }
      return sizeof(int);
    case ParameterKind::kOpaque:  // of a pointer's attributes only this one is no word
      if constexpr (requires { call.attribute; }) {
        const bool is_int = call.attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
        return is_int ? sizeof(int) : sizeof(void*);
      }
      return 0;
    default:
      return 0;
  }
}

}  // namespace detail

/// Calls visit(pointer, bytes) for each pointer of the call that points to memory. The visitor can
/// set the pointer to a copy of that memory in this process.
template <class CallStruct, class Visitor>
void each_buffer(CallStruct& call, Visitor&& visitor) {
  call.visit([&](ParameterKind kind, const char*, const auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_pointer_v<Field>) {
      using Pointee = std::remove_pointer_t<Field>;
      std::size_t pointee = 0;
      // NOLINTBEGIN(bugprone-sizeof-expression): what is pointed to may itself be a pointer
      if constexpr (!std::is_void_v<Pointee> && requires { sizeof(Pointee); }) {
        pointee = sizeof(Pointee);
      }
      // NOLINTEND(bugprone-sizeof-expression)
      const std::size_t bytes = detail::bytes_behind(kind, call, pointee);
      if (field && bytes) visitor(const_cast<Field&>(field), bytes);
    }
  });
}

/// The call and the memory behind its pointers.
template <class CallStruct>
std::string pack(const CallStruct& call) {
  std::string out(reinterpret_cast<const char*>(&call), sizeof call);
  each_buffer(call, [&](const void* memory, std::size_t bytes) {
    out.append(static_cast<const char*>(memory), bytes);
  });
  return out;
}

/// A call that came as bytes; its pointers point to copies of the caller's memory.
template <class CallStruct>
struct Unpacked {
  CallStruct call{};
  std::string memory;  ///< the memory of all pointers, each at a multiple of kAligned
  bool whole = true;   ///< false: the bytes are too few

  explicit Unpacked(const std::string& bytes) {
    whole = bytes.size() >= sizeof call;
    if (!whole) return;
    std::memcpy(static_cast<void*>(&call), bytes.data(), sizeof call);
    std::size_t need = 0, at = sizeof call, used = 0;
    each_buffer(call, [&](const void*, std::size_t size) { need += room(size); });
    memory.resize(need + kAligned);
    const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
    char* place = memory.data() + (kAligned - start % kAligned) % kAligned;
    each_buffer(call, [&](auto& pointer, std::size_t size) {
      whole = whole && size <= bytes.size() - at;
      if (!whole) return;
      std::memcpy(place + used, bytes.data() + at, size);
      pointer =
          static_cast<std::remove_reference_t<decltype(pointer)>>(static_cast<void*>(place + used));
      used += room(size);
      at += size;
    });
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

 private:
  static constexpr std::size_t kAligned = 16;
  static std::size_t room(std::size_t size) { return (size + kAligned - 1) / kAligned * kAligned; }
};

/// The memory behind the pointers after the call, for put_back().
template <class CallStruct>
std::string memory_of(CallStruct& call) {
  std::string out;
  each_buffer(call, [&](const void* memory, std::size_t bytes) {
    out.append(static_cast<const char*>(memory), bytes);
  });
  return out;
}

/// Copies the bytes back behind the pointers through which the call may write.
template <class CallStruct>
void put_back(const CallStruct& call, const std::string& bytes) {
  std::size_t at = 0;
  each_buffer(call, [&](auto& pointer, std::size_t size) {
    using Pointee = std::remove_pointer_t<std::remove_cvref_t<decltype(pointer)>>;
    if (size > bytes.size() - at) return;
    if constexpr (!std::is_const_v<Pointee>) std::memcpy(pointer, bytes.data() + at, size);
    at += size;
  });
}

}  // namespace cuvmm::fuzz
