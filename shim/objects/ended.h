// SPDX-License-Identifier: Apache-2.0
// Finds the objects that a call names, and which of them have ended. Runs before the driver's call,
// because the driver may die of a handle that it has freed.
#pragma once

#include <cstdint>
#include <type_traits>

#include "api/calls.h"
#include "rulebook/memory/check_ended.h"
#include "shim/objects/object_table.h"

namespace cuvmm::shim {

/// The kind of object that a handle of this type stands for; kCount if cuvmm does not follow such
/// objects.
template <class Handle>
inline constexpr PlainObject::Kind kKindOf = PlainObject::Kind::kCount;
template <>
inline constexpr PlainObject::Kind kKindOf<CUstream> = PlainObject::Kind::kStream;
template <>
inline constexpr PlainObject::Kind kKindOf<CUevent> = PlainObject::Kind::kEvent;
template <>
inline constexpr PlainObject::Kind kKindOf<CUcontext> = PlainObject::Kind::kContext;
template <>
inline constexpr PlainObject::Kind kKindOf<CUgreenCtx> = PlainObject::Kind::kGreenContext;
template <>
inline constexpr PlainObject::Kind kKindOf<CUmodule> = PlainObject::Kind::kModule;
template <>
inline constexpr PlainObject::Kind kKindOf<CUlibrary> = PlainObject::Kind::kLibrary;
template <>
inline constexpr PlainObject::Kind kKindOf<CUfunction> = PlainObject::Kind::kFunction;
template <>
inline constexpr PlainObject::Kind kKindOf<CUkernel> = PlainObject::Kind::kFunction;
template <>
inline constexpr PlainObject::Kind kKindOf<CUgraph> = PlainObject::Kind::kGraph;
template <>
inline constexpr PlainObject::Kind kKindOf<CUgraphNode> = PlainObject::Kind::kNode;
template <>
inline constexpr PlainObject::Kind kKindOf<CUgraphExec> = PlainObject::Kind::kExecutableGraph;

/// The handle in an argument, or in the parameters of a node.
template <class Argument>
std::uint64_t handle_of(Argument argument) {
  return reinterpret_cast<std::uintptr_t>(argument);
}
template <>
inline constexpr PlainObject::Kind kKindOf<const CUDA_KERNEL_NODE_PARAMS*> =
    PlainObject::Kind::kFunction;
inline std::uint64_t handle_of(const CUDA_KERNEL_NODE_PARAMS* params) {
  if (!params) return 0;
  return params->func ? handle_of(params->func) : handle_of(params->kern);
}

namespace detail {

template <class... Args>
constexpr bool names_objects(CUresult(CUDAAPI*)(Args...)) {
  return ((kKindOf<Args> != PlainObject::Kind::kCount) || ...);
}

}  // namespace detail

/// Whether a call of this kind names an object by its handle.
template <class CallStruct>
inline constexpr bool kNamesObjects =
    detail::names_objects(static_cast<typename CallStruct::Function>(nullptr)) ||
    requires(const CallStruct& c) {
  c.config->hStream;
}
|| requires(const CallStruct& c) { c.pCopy->dstContext; };

/// visit(kind, handle, parameter) for each object that the call names.
template <class CallStruct, class Visitor>
void each_object(const CallStruct& call, Visitor&& visitor) {
  const auto one = [&](const char* name, auto handle) {
    constexpr PlainObject::Kind kKind = kKindOf<decltype(handle)>;
    if constexpr (kKind != PlainObject::Kind::kCount) {
      visitor(kKind, handle_of(handle), name);
    }
  };
  call.visit([&](ParameterKind, const char* name, const auto& field) { one(name, field); });
  if constexpr (requires { call.config->hStream; }) {
    if (call.config) one("config->hStream", call.config->hStream);
  }
  if constexpr (requires { call.pCopy->dstContext; }) {
    if (!call.pCopy) return;
    one("pCopy->dstContext", call.pCopy->dstContext);
    one("pCopy->srcContext", call.pCopy->srcContext);
  }
}

/// Whether one of the call's objects may have ended. Most calls pay only this check.
template <class CallStruct>
bool may_name_ended(const CallStruct& call) noexcept {
  bool may = false;
  each_object(call, [&](PlainObject::Kind, std::uint64_t handle, const char*) {
    may |= g_ended.may_hold(handle);
  });
  return may;
}

/// The violations of a call that names objects which have ended.
template <class CallStruct>
[[gnu::cold, gnu::noinline]] Violations ended_objects(const CallStruct& call) {
  constexpr std::size_t kMost = 4;
  EndedObject found[kMost];
  std::size_t count = 0;
  each_object(call, [&](PlainObject::Kind kind, std::uint64_t handle, const char* parameter) {
    if (count == kMost || !g_ended.may_hold(handle)) return;
    if (const auto ended_object = object_table().find_ended(kind, handle)) {
      found[count] = *ended_object;
      found[count++].parameter = parameter;
    }
  });
  return check_ended_objects({found, count});
}

/// ended_objects() for the arguments of a function that has no call struct.
template <class... Args>
[[gnu::cold, gnu::noinline]] Violations ended_among(Args... arguments) {
  EndedObject found[sizeof...(Args)];
  std::size_t count = 0;
  const auto one = [&](auto argument) {
    constexpr PlainObject::Kind kKind = kKindOf<decltype(argument)>;
    if constexpr (kKind != PlainObject::Kind::kCount) {
      const std::uint64_t handle = handle_of(argument);
      if (const auto ended_object = object_table().find_ended(kKind, handle)) {
        found[count] = *ended_object;
        found[count++].parameter = name(ended_object->object.kind);
      }
    }
  };
  (one(arguments), ...);
  return check_ended_objects({found, count});
}

}  // namespace cuvmm::shim
