// SPDX-License-Identifier: Apache-2.0
// Notes which plain objects a call makes or ends.
#pragma once

#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "api/calls.h"
#include "rulebook/check/check.h"
#include "shim/base/in_flight.h"
#include "shim/base/runtime_call.h"
#include "shim/objects/ended.h"
#include "shim/objects/object_table.h"
#include "shim/objects/semaphore_arrays.h"
#include "shim/policy/order_policy.h"
#include "shim/refusals/loaded_code.h"

namespace cuvmm::shim {

// Objects that the driver makes or ends for itself by its own exported functions are not noted,
// except that the handle of an ended object is in use again.
[[gnu::cold]] void note_made(PlainObject::Kind kind, std::uint64_t value, const Caller& direct,
                             const char* function, unsigned flags = 0) noexcept;
/// The driver has returned a function or a global: it ends with `whole`.
[[gnu::cold]] void note_part(PlainObject::Kind kind, std::uint64_t value,
                             PlainObject::Kind whole_kind, std::uint64_t whole,
                             std::uint64_t size) noexcept;
/// The driver has returned a function that belongs to the owner of `other`.
[[gnu::cold]] void note_part_beside(PlainObject::Kind kind, std::uint64_t value,
                                    std::uint64_t other) noexcept;
[[gnu::cold]] void note_retained(int device, const Caller& direct) noexcept;
/// The driver accepted a call that ends a context, or gives up a reference to one.
[[gnu::cold]] void note_context_ended(std::uint64_t context, Origin at) noexcept;
[[gnu::cold]] void note_released(int device, const Caller& direct, Origin at) noexcept;
[[gnu::cold]] void note_reset(int device, Origin at) noexcept;
/// The origin of the call that has just ended an object. `numbered`: the session has given the call
/// a number.
[[gnu::cold]] Origin end_by(const Caller& direct, const char* function, bool numbered) noexcept;

/// Makes a call that ends an object: takes the object out of the table before the call, and puts it
/// back if the driver refuses. During the call the object has not ended yet, so that the call
/// itself names no ended object. `end()`: returns the call's origin; called after the driver
/// accepted the call.
template <class Make, class End>
CUresult ending(PlainObject::Kind kind, std::uint64_t value, Make&& make, End&& end) {
  if (in_flight()) return make();
  const auto taken = object_table().take(kind, value);
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    object_table().ended(kind, value, taken ? taken->made : 0, end());
  } else {
    const bool stays = result != CUDA_ERROR_DEINITIALIZED;
    object_table().stays(kind, value, stays ? taken : std::nullopt);
  }
  return result;
}

/// The object that a call ends, by its kind and handle.
struct NamedObject {
  PlainObject::Kind kind;
  std::uint64_t value;
};
template <class Handle>
NamedObject named(PlainObject::Kind kind, Handle handle) {
  return {kind, reinterpret_cast<std::uintptr_t>(handle)};
}
inline NamedObject ended_by(const calls::StreamDestroy& c) {
  return named(PlainObject::Kind::kStream, c.hStream);
}
inline NamedObject ended_by(const calls::EventDestroy& c) {
  return named(PlainObject::Kind::kEvent, c.hEvent);
}
inline NamedObject ended_by(const calls::ModuleUnload& c) {
  return named(PlainObject::Kind::kModule, c.hmod);
}
inline NamedObject ended_by(const calls::LibraryUnload& c) {
  return named(PlainObject::Kind::kLibrary, c.library);
}
inline NamedObject ended_by(const calls::GraphExecDestroy& c) {
  return named(PlainObject::Kind::kExecutableGraph, c.hGraphExec);
}
inline NamedObject ended_by(const calls::CtxDestroy& c) {
  return named(PlainObject::Kind::kContext, c.ctx);
}
inline NamedObject ended_by(const calls::CtxDetach& c) {
  return named(PlainObject::Kind::kContext, c.ctx);
}
inline NamedObject ended_by(const calls::GreenCtxDestroy& c) {
  return named(PlainObject::Kind::kGreenContext, c.hCtx);
}

/// The object that a call made.
template <class CallStruct>
requires requires(const CallStruct& c) {
  c.module;
  c.module[0];
}
NamedObject made_by(const CallStruct& c) { return named(PlainObject::Kind::kModule, *c.module); }
template <class CallStruct>
requires std::is_same_v<CallStruct, calls::LibraryLoadData> ||
    std::is_same_v<CallStruct, calls::LibraryLoadFromFile>
        NamedObject made_by(const CallStruct& c) {
  return named(PlainObject::Kind::kLibrary, *c.library);
}
inline NamedObject made_by(const calls::StreamEndCapture& c) {
  return named(PlainObject::Kind::kGraph, *c.phGraph);
}
template <class CallStruct>
requires requires(const CallStruct& c) { c.phGraphExec; }
NamedObject made_by(const CallStruct& c) {
  return named(PlainObject::Kind::kExecutableGraph, *c.phGraphExec);
}

/// A handle that the driver returned for an object which the program did not make.
inline NamedObject given_by(const calls::IpcOpenEventHandle& c) {
  return named(PlainObject::Kind::kEvent, *c.phEvent);
}
/// From here on the driver returns graphs that it makes itself: those of captures.
template <class CallStruct>
inline constexpr bool kGivesGraphs = std::is_same_v<CallStruct, calls::StreamBeginCapture> ||
                                     std::is_same_v<CallStruct, calls::StreamBeginCaptureToGraph>;

template <class CallStruct>
inline constexpr bool kGives = requires(const CallStruct& c) {
  given_by(c);
};
template <class CallStruct>
inline constexpr bool kMakesObject = requires(const CallStruct& c) {
  made_by(c);
};
template <class CallStruct>
inline constexpr bool kEndsObject = requires(const CallStruct& c) {
  ended_by(c);
};
template <class CallStruct>
inline constexpr bool kGivesUpPrimary =
    std::is_same_v<CallStruct, calls::DevicePrimaryCtxRelease> ||
    std::is_same_v<CallStruct, calls::DevicePrimaryCtxReset>;
template <class CallStruct>
inline constexpr bool kSetsAnyNode = std::is_same_v<CallStruct, calls::GraphExecNodeSetParams>;
/// Whether a call makes, updates or ends a plain object.
template <class CallStruct>
inline constexpr bool kFollowed =
    kMakesObject<CallStruct> || kUpdatesGraph<CallStruct> || kSetsAnyNode<CallStruct> ||
    kEndsObject<CallStruct> || kGivesUpPrimary<CallStruct> || kGives<CallStruct> ||
    kGivesGraphs<CallStruct>;

/// Makes the call, and notes the objects that it made or ended.
template <class CallStruct, class Make>
CUresult followed(const CallStruct& call, const Caller& caller, Make&& make) {
  constexpr bool kNumbered = !kOrdersWork<CallStruct>;
  if constexpr (kEndsObject<CallStruct>) {
    const NamedObject object = ended_by(call);
    // After one reference is given up, the program may have others.
    constexpr bool kSure = !std::is_same_v<CallStruct, calls::CtxDetach>;
    const auto end = [&] {
      return kSure ? end_by(caller, CallStruct::kName, kNumbered) : Origin{};
    };
    const CUresult result = ending(object.kind, object.value, make, end);
    if (result == CUDA_SUCCESS && object.kind == PlainObject::Kind::kContext) {
      note_context_ended(object.value, end());
    }
    return result;
  } else {
    const CUresult result = make();
    if (result != CUDA_SUCCESS) return result;
    if constexpr (kMakesObject<CallStruct>) {
      const NamedObject made = made_by(call);
      note_made(made.kind, made.value, caller, CallStruct::kName);
      if constexpr (kMakesGraph<CallStruct>) {
        object_table().execute(made.value, handle_of(call.hGraph));
      } else if constexpr (std::is_same_v<CallStruct, calls::LibraryLoadData>) {
        remember_code(*call.library, {.image = call.code});
      } else if constexpr (std::is_same_v<CallStruct, calls::LibraryLoadFromFile>) {
        remember_code(*call.library, {.path = call.fileName});
      }
    } else if constexpr (kUpdatesGraph<CallStruct>) {
      object_table().execute(handle_of(call.hGraphExec), handle_of(call.hGraph));
    } else if constexpr (kSetsAnyNode<CallStruct>) {
      if (const std::uint64_t entry = entry_of(semaphores_of(call.nodeParams)))
        object_table().change_executable(handle_of(call.hGraphExec), entry);
    } else if constexpr (kGives<CallStruct>) {
      const NamedObject given = given_by(call);
      object_table().forget(given.kind, given.value);
    } else if constexpr (kGivesGraphs<CallStruct>) {
      object_table().forget_all(PlainObject::Kind::kGraph);
      object_table().forget_all(PlainObject::Kind::kNode);
    } else if constexpr (std::is_same_v<CallStruct, calls::DevicePrimaryCtxRelease>) {
      note_released(call.dev, caller, end_by(caller, CallStruct::kName, kNumbered));
    } else {
      note_reset(call.dev, end_by(caller, CallStruct::kName, kNumbered));
    }
    return result;
  }
}

}  // namespace cuvmm::shim
