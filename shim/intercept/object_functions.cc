// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/object_functions.h"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "api/words.h"
#include "shim/intercept/checkpoint_calls.h"
#include "shim/intercept/deadly_arguments.h"
#include "shim/intercept/follow.h"
#include "shim/intercept/refused_call.h"
#include "shim/intercept/user_object.h"
#include "shim/objects/ended.h"
#include "shim/process/process.h"
#include "shim/refusals/arguments/given_argument.h"
#include "shim/refusals/surroundings.h"
#include "shim/session/call_with.h"
#include "shim/session/capture_cause.h"

namespace cuvmm::shim {

namespace {

std::uint64_t handle_number(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }
std::uint64_t handle_number(unsigned long long handle) { return handle; }

#define CUVMM_STRIP(...) __VA_ARGS__

// A parameter that has a type of its own here, and is passed as the pointer that it holds.
using HostPlace = const struct HostByte*;

// The driver has returned a node of the graph, which ends with it.
template <class... Rest>
void note_node(CUgraphNode* out, CUgraph graph, Rest... rest) {
  if (!out) return;
  note_part(PlainObject::Kind::kNode, handle_of(*out), PlainObject::Kind::kGraph, handle_of(graph),
            0);
  note_code(graph, *out, rest...);
}
template <class... Args>
void note_node(Args...) {}

using shim::note_node;

// The nodes that a capture has made, and that the driver returns. Where no capture is active, a
// driver writes only the status.
void note_dependencies(const CUstreamCaptureStatus* status, const CUgraphNode* const* from,
                       const std::size_t* count) {
  if (!status || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE || !from || !*from || !count) return;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::uint64_t node = handle_of((*from)[i]);
    if (g_ended.may_hold(node)) object_table().forget(PlainObject::Kind::kNode, node);
  }
}
template <class Stream, class Id, class Graph>
void note_node(Stream, CUstreamCaptureStatus* status, Id, Graph, const CUgraphNode** from,
               std::size_t* count) {
  note_dependencies(status, from, count);
}
template <class Stream, class Id, class Graph>
void note_node(Stream, CUstreamCaptureStatus* status, Id, Graph, const CUgraphNode** from,
               const void**, std::size_t* count) {
  note_dependencies(status, from, count);
}

// The ended nodes among those that a new node shall wait for.
template <class... Rest>
Violations ended_dependencies(CUgraphNode*, CUgraph, const CUgraphNode* from, std::size_t count,
                              Rest...) {
  constexpr std::size_t kMost = 4;
  EndedObject found[kMost];
  std::size_t wrong = 0;
  for (std::size_t i = 0; from && i < count && wrong < kMost; ++i) {
    if (!g_ended.may_hold(handle_of(from[i]))) continue;
    const auto ended = object_table().find_ended(PlainObject::Kind::kNode, handle_of(from[i]));
    if (!ended) continue;
    found[wrong] = *ended;
    found[wrong++].parameter = "dependencies";
  }
  return check_ended_objects({found, wrong});
}
template <class... Args>
Violations ended_dependencies(Args...) {
  return {};
}

// The bytes that a node of a graph touches, by the parameters of the call.
template <class Argument>
std::size_t node_touches(Argument, Touch (&)[kMaxTouches]) {
  return 0;
}
std::size_t node_touches(const CUDA_MEMCPY3D* copy, Touch (&out)[kMaxTouches]) {
  return touches(calls::Memcpy3D{copy}, out);
}
std::size_t node_touches(const CUDA_MEMSET_NODE_PARAMS* fill, Touch (&out)[kMaxTouches]) {
  return fill ? touches(fill_of(*fill), out) : 0;
}

unsigned flags_of_new(CUevent*, unsigned flags) { return flags; }
using shim::flags_of_new;
template <class... Args>
unsigned flags_of_new(Args...) {
  return 0;
}

// The report shows the arguments of a refused call. `names`: "(out, flags)".
template <class... Args>
[[gnu::cold, gnu::noinline]] void describe(const char* function, const char* names, CUresult result,
                                           Args... arguments) noexcept {
  if (in_flight() || !says_something(result)) return;
  try {
    GivenArguments given(names);
    (given.add(arguments), ...);
    Process::current_session().describe_refusal(function, result, given.take());
  } catch (...) {
    // Out of memory: then the report shows no arguments.
  }
}

template <class... Args>
bool may_have_ended(Args... arguments) {
  const auto may = [](auto argument) {
    if constexpr (kKindOf<decltype(argument)> == PlainObject::Kind::kCount) {
      return false;
    } else {
      return g_ended.may_hold(handle_of(argument));
    }
  };
  return (may(arguments) || ...);
}

// The driver returned a function or a global of a module, which ends with the object `whole`.
template <class Function, class Whole>
void note_given(PlainObject::Kind kind, Function* out, Whole whole, const char*) {
  note_part(PlainObject::Kind::kFunction, handle_of(*out), kind, handle_of(whole), 0);
}
template <class Whole>
void note_given(PlainObject::Kind kind, CUdeviceptr* out, std::size_t* size, Whole whole,
                const char*) {
  note_part(PlainObject::Kind::kGlobal, *out, kind, handle_of(whole), size ? *size : 0);
}
// The function belongs to the kernel's library.
void note_given(PlainObject::Kind kind, CUfunction* out, CUkernel kernel) {
  note_part_beside(kind, handle_of(*out), handle_of(kernel));
}

// Only the model knows that an array has ended.
template <class Argument>
std::uint64_t array_of(Argument) {
  return 0;
}
std::uint64_t array_of(CUarray array) { return handle_of(array); }
std::uint64_t array_of(CUmipmappedArray array) { return handle_of(array); }
std::uint64_t array_of(const CUDA_RESOURCE_DESC* from) {
  if (from && from->resType == CU_RESOURCE_TYPE_ARRAY) return handle_of(from->res.array.hArray);
  if (from && from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
    return handle_of(from->res.mipmap.hMipmappedArray);
  return 0;
}

// The memory that a texture or a surface reads.
std::size_t node_touches(const CUDA_RESOURCE_DESC* from, Touch (&out)[kMaxTouches]) {
  if (!from) return 0;
  Touch touch;
  touch.parameter = "pResDesc";
  touch.device_only = true;
  if (from->resType == CU_RESOURCE_TYPE_LINEAR) {
    touch.base = from->res.linear.devPtr;
    touch.width = from->res.linear.sizeInBytes;
  } else if (from->resType == CU_RESOURCE_TYPE_PITCH2D) {
    touch.base = from->res.pitch2D.devPtr;
    touch.pitch = from->res.pitch2D.pitchInBytes;
    touch.width = from->res.pitch2D.width;
    touch.rows = from->res.pitch2D.height;
  }
  out[0] = touch;
  return touch.width != 0 && touch.rows != 0 ? 1 : 0;
}

// The stream that the call names first; null: none, or the default stream.
template <class... Args>
CUstream first_stream(Args... arguments) {
  CUstream found = nullptr;
  const auto look = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), CUstream>) {
      if (!found) found = argument;
    }
  };
  (look(arguments), ...);
  return found;
}

// Makes the call, and reports the mistakes in the objects and the memory among its arguments.
template <class Make, class... Args>
CUresult using_objects(const char* function, const char* names, const Caller& direct,
                       const Make& make, Args... arguments) {
  if (in_flight()) return make();
  const RuntimeCall* const runtime = runtime_call();
  const Caller& caller = runtime ? runtime->caller : direct;
  if (may_have_ended(arguments...)) [[unlikely]] {
    Violations wrong = ended_among(arguments...);
    if (!wrong.empty())
      return Process::current_session().call_with(function, std::move(wrong), caller, make);
  }
  if (Violations deadly = deadly_arguments(arguments...); !deadly.empty()) [[unlikely]]
    return Process::current_session().call_with(function, std::move(deadly), caller, make);
  const CUresult result = make();
  if (result == CUDA_SUCCESS) note_node(arguments...);
  if (forbidden_by_capture(result)) [[unlikely]] {
    CaptureCause::report(Process::current_session(), function, first_stream(arguments...), result,
                         caller);
  }
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] {
    const auto explain = [&](auto argument) {
      const std::uint64_t array = array_of(argument);
      if (array != 0)
        Process::current_session().explain_named(function, Rule::kArrayAlive, array, result,
                                                 caller);
    };
    (explain(arguments), ...);
  }
  if (result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] {
    Violations dependencies = ended_dependencies(arguments...);
    if (!dependencies.empty()) {
      return Process::current_session().call_with(function, std::move(dependencies), caller,
                                                  [&] { return result; });
    }
    const auto explain_place = [&](auto argument) {
      Session& session = Process::current_session();
      if constexpr (std::is_same_v<decltype(argument), HostPlace>) {
        session.explain_named(function, Rule::kHostMemoryAlive, handle_number(argument), result,
                              caller);
      }
    };
    (explain_place(arguments), ...);
    if (const CUdeviceptr freed = freed_by(arguments...)) {
      Process::current_session().explain_named(function, Rule::kGraphFreeKnown, freed, result,
                                               caller);
      note_refused_because(function, result, direct,
                           "the node is to free " + hex_text(freed) +
                               ": a free node takes the address that an allocation node returned, "
                               "once, and depends on that node");
      return result;
    }
    const auto explain = [&](auto argument) {
      Touch list[kMaxTouches];
      const std::size_t count = node_touches(argument, list);
      if (count == 0) return;
      Process::current_session().explain_node(function, list, count, result, caller);
    };
    (explain(arguments), ...);
  }
  if (result != CUDA_SUCCESS) [[unlikely]]
    describe(function, names, result, arguments...);
  if (is_refused(result)) [[unlikely]]
    note_refused_arguments(function, result, direct, arguments...);
  return result;
}

// A question about objects, which says little where none of them has ended.
template <class Make, class... Args>
CUresult asking(const char* function, const char* names, const Caller& caller, const Make& make,
                Args... arguments) {
  if (may_have_ended(arguments...)) [[unlikely]]
    return using_objects(function, names, caller, make, arguments...);
  const CUresult result = make();
  if (result == CUDA_SUCCESS) [[likely]] {
    note_node(arguments...);
  } else {
    describe(function, names, result, arguments...);
    note_refused(function, result, caller);
  }
  return result;
}

template <class Make, class... Args>
CUresult telling(const char* function, const char* names, const Caller& caller, const Make& make,
                 Args... arguments) {
  const CUresult result = make();
  if (result == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]]
    note_refused(function, result, caller);
  else if (result != CUDA_SUCCESS) [[unlikely]]
    describe(function, names, result, arguments...);
  return result;
}

template <class Make, class... Args>
CUresult probing(const char* function, const char*, const Caller& caller, const Make& make,
                 Args...) {
  const CUresult result = make();
  if (result == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]]
    note_refused(function, result, caller);
  return result;
}

// The function of one line of the table; make() calls the driver's function.
#define CUVMM_WRAPPER(of_symbol, arguments, parameters, ...)                            \
  namespace of_symbol {                                                                 \
  using Function = CUresult(*) parameters;                                              \
  constinit std::atomic<Function> behind{nullptr};                                      \
  [[gnu::noinline]] CUresult CUDAAPI call parameters {                                  \
    const Caller caller = CUVMM_CALLER;                                                 \
    const auto make = [&] { return behind.load(std::memory_order_acquire) arguments; }; \
    __VA_ARGS__                                                                         \
  }                                                                                     \
  }
#define CUVMM_MAKES(symbol, query, What, arguments, ...)                           \
  CUVMM_WRAPPER(                                                                   \
      of_##symbol, arguments, (__VA_ARGS__),                                       \
      const CUresult result =                                                      \
          using_objects(#symbol, #arguments, caller, make, CUVMM_STRIP arguments); \
      if (result == CUDA_SUCCESS && out) {                                         \
        note_made(PlainObject::Kind::What, handle_number(*out), caller, #query,    \
                  flags_of_new arguments);                                         \
        note_copy arguments;                                                       \
      } return result;)
#define CUVMM_ENDS(symbol, query, What, arguments, ...)                                        \
  CUVMM_WRAPPER(                                                                               \
      of_##symbol, arguments, (__VA_ARGS__),                                                   \
      const auto end =                                                                         \
          [&] {                                                                                \
            return ending(PlainObject::Kind::What, handle_number(CUVMM_STRIP arguments), make, \
                          [&] { return end_by(caller, #query, false); });                      \
          };                                                                                   \
      return using_objects(#symbol, #arguments, caller, end, CUVMM_STRIP arguments);)
#define CUVMM_USES(symbol, query, arguments, ...)      \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__), \
                return using_objects(#symbol, #arguments, caller, make, CUVMM_STRIP arguments);)
#define CUVMM_PARTS(symbol, query, Of, arguments, ...)                                       \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__),                                       \
                const CUresult result =                                                      \
                    using_objects(#symbol, #arguments, caller, make, CUVMM_STRIP arguments); \
                if (result == CUDA_SUCCESS && out)                                           \
                    note_given(PlainObject::Kind::Of, CUVMM_STRIP arguments);                \
                return result;)
#define CUVMM_ASKS(symbol, query, arguments, ...)      \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__), \
                return asking(#symbol, #arguments, caller, make, CUVMM_STRIP arguments);)
#define CUVMM_GIVES(symbol, query, What, arguments, ...)                                        \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__),                                          \
                const CUresult result =                                                         \
                    using_objects(#symbol, #arguments, caller, make, CUVMM_STRIP arguments);    \
                if (result == CUDA_SUCCESS) object_table().forget_all(PlainObject::Kind::What); \
                return result;)
#define CUVMM_TELLS(symbol, query, arguments, ...)     \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__), \
                return telling(#symbol, #arguments, caller, make, CUVMM_STRIP arguments);)
#define CUVMM_PROBES(symbol, query, arguments, ...)    \
  CUVMM_WRAPPER(of_##symbol, arguments, (__VA_ARGS__), \
                return probing(#symbol, #arguments, caller, make, CUVMM_STRIP arguments);)
#include "shim/intercept/object_functions.def"
#undef CUVMM_MAKES
#undef CUVMM_ENDS
#undef CUVMM_USES
#undef CUVMM_GIVES
#undef CUVMM_PARTS
#undef CUVMM_ASKS
#undef CUVMM_TELLS
#undef CUVMM_PROBES
#undef CUVMM_WRAPPER

// The call returns the context of `device`.
namespace of_retain {
using Function = CUresult (*)(CUcontext*, CUdevice);
constinit std::atomic<Function> behind{nullptr};
[[gnu::noinline]] CUresult CUDAAPI call(CUcontext* out, CUdevice device) {
  const Caller caller = CUVMM_CALLER;
  const CUresult result = behind.load(std::memory_order_acquire)(out, device);
  if (result != CUDA_SUCCESS) [[unlikely]] {
    describe("cuDevicePrimaryCtxRetain", "(out, device)", result, out, device);
    note_refused("cuDevicePrimaryCtxRetain", result, caller);
  }
  if (result == CUDA_SUCCESS) note_retained(device, caller);
  if (result == CUDA_SUCCESS && out) {
    object_table().forget(PlainObject::Kind::kContext, handle_number(*out));
  }
  return result;
}
}  // namespace of_retain

namespace of_init {
using Function = CUresult (*)(unsigned);
constinit std::atomic<Function> behind{nullptr};
[[gnu::noinline]] CUresult CUDAAPI call(unsigned flags) {
  const CUresult result = behind.load(std::memory_order_acquire)(flags);
  note_init(result);
  if (result == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]]
    note_refused("cuInit", result, CUVMM_CALLER);
  return result;
}
}  // namespace of_init

struct ObjectFunction {
  const char* symbol;
  const char* query;
  void* wrapper;
  void (*set)(void*);
};

// Written out without a helper macro, because cuda.h has macros for some of these names.
#define CUVMM_MAKES(symbol, query, What, arguments, ...)                              \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_ENDS(symbol, query, What, arguments, ...)                               \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_GIVES(symbol, query, What, arguments, ...)                              \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_PARTS(symbol, query, Of, arguments, ...)                                \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_ASKS(symbol, query, arguments, ...)                                     \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_TELLS(symbol, query, arguments, ...)                                    \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_PROBES(symbol, query, arguments, ...)                                   \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
#define CUVMM_USES(symbol, query, arguments, ...)                                     \
  {#symbol, #query, reinterpret_cast<void*>(&of_##symbol::call), [](void* function) { \
     of_##symbol::behind.store(reinterpret_cast<of_##symbol::Function>(function));    \
   }},
constexpr auto kInit = "cuInit";
constexpr auto kRetain = "cuDevicePrimaryCtxRetain";
const ObjectFunction kObjectFunctions[] = {
#include "shim/intercept/object_functions.def"
    {kInit, kInit, reinterpret_cast<void*>(&of_init::call),
     [](void* function) { of_init::behind.store(reinterpret_cast<of_init::Function>(function)); }},
    {kRetain, kRetain, reinterpret_cast<void*>(&of_retain::call),
     [](void* function) {
       of_retain::behind.store(reinterpret_cast<of_retain::Function>(function));
     }},
};
#undef CUVMM_MAKES
#undef CUVMM_ENDS
#undef CUVMM_USES
#undef CUVMM_GIVES
#undef CUVMM_PARTS
#undef CUVMM_ASKS
#undef CUVMM_TELLS
#undef CUVMM_PROBES

// Several ABIs have one name: the result is the one that the driver exports under it.
const ObjectFunction* object_function_of(std::string_view name, const void* function) {
  const ObjectFunction* of_query = nullptr;
  unsigned queries = 0;
  for (const ObjectFunction& each : kObjectFunctions) {
    const bool asked = name == each.query;
    if (!asked && name != each.symbol) continue;
    if (Process::get().driver().find(each.symbol) == function) return &each;
    of_query = &each;
    ++queries;
  }
  return queries == 1 ? of_query : nullptr;
}

}  // namespace

void* object_function(const char* name, void* driver_function) {
  if (!driver_function || !name) return nullptr;
  const ObjectFunction* const known = object_function_of(name, driver_function);
  if (!known) return nullptr;
  known->set(driver_function);
  return known->wrapper;
}

}  // namespace cuvmm::shim
