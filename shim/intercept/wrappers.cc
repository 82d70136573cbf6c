// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/wrappers.h"
#include "shim/base/call_hooks.h"

#include <optional>
#include <string_view>
#include <type_traits>

#include "recorder/last_calls/reading.h"
#include "shim/fail/call_facts.h"
#include "shim/fail/injector.h"
#include "shim/intercept/follow.h"
#include "shim/intercept/refused_call.h"
#include "shim/policy/data_policy.h"
#include "shim/process/kernel_reports.h"
#include "shim/process/process.h"
#include "shim/recorder/recorded_call.h"

namespace cuvmm::shim {

namespace {

[[gnu::cold, gnu::noinline]] void look_for_fault(CUresult result, std::uint64_t sequence,
                                                 const Caller& caller) {
  if (last_calls::is_fault(static_cast<std::uint32_t>(result))) [[unlikely]]
    Process::get().note_fault(result, sequence, caller);
}

[[gnu::cold, gnu::noinline]] void take_kernel_reports(EntryPoint entry, const Caller& caller) {
  g_hooks.kernel_reports.load(std::memory_order_acquire)->after(entry, caller);
}

template <class CallStruct>
inline void end(RecordedCall& record, CUresult result, const Caller& caller) {
  const std::uint64_t sequence = record.returned(result);
  if (result != CUDA_SUCCESS) [[unlikely]]
    return look_for_fault(result, sequence, caller);
  if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    g_last_calls.note_created(t_state.call_place, sequence);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemMap> ||
                       std::is_same_v<CallStruct, calls::MemRelease>) {
    g_last_calls.note_used(t_state.call_place);
  }
}

// The calls that allocators make all the time have the session's path inlined. The wrappers of
// other functions share it: code that no program runs in a loop is not worth the time to compile
// it.
constexpr bool called_all_day(EntryPoint entry) {
  const std::string_view area = area_of(entry);
  return area == "access" || area == "address_range" || area == "allocation" || area == "map";
}

// Calls that programs make in loops begin their record inline, because `cuvmm run` keeps the last
// calls of every program. Launches do not: inlined, the loop over their arguments costs more.
template <class CallStruct>
inline constexpr bool kInLoops = called_all_day(CallStruct::kEntryPoint) || kTouches<CallStruct>;

// The parameters come from the call struct's function type, so that no parameter list is written
// twice.
template <Symbol symbol, class CallStruct, class Function>
struct Wrapper;
template <Symbol symbol, class CallStruct, class... Args>
struct Wrapper<symbol, CallStruct, CUresult(CUDAAPI*)(Args...)> {
  [[gnu::hot, gnu::noinline]] static CUresult CUDAAPI call(Args... args) {
    Session& session = Process::current_session();
    const CallStruct made{args...};
    const Caller caller = CUVMM_CALLER;
    RecordedCall record;
    if (g_hooks.last_calls_wanted.load(std::memory_order_relaxed)) {
      if (!g_last_calls.image()) [[unlikely]]
        Process::get().need_last_calls();
      if constexpr (kInLoops<CallStruct>) {
        record.begin_here(made);
      } else if constexpr (kLaunches<CallStruct>) {
        begin_launch(record, made);
      } else {
        begin(record, made);
      }
    }
    if (Injector* const injector = g_hooks.injector.load(std::memory_order_relaxed)) [[unlikely]] {
      if (const auto code = fail_on_purpose(*injector, made, caller)) {
        if (record.begun()) record.returned(*code);
        return *code;
      }
    }
    CUresult result;
    if constexpr (kFollowed<CallStruct>) {
      result = followed(made, caller, [&] { return session.run(symbol, made, caller); });
    } else if constexpr (called_all_day(CallStruct::kEntryPoint)) {
      result = session.run_here(symbol, made, caller);
    } else {
      result = session.run(symbol, made, caller);
    }
    if constexpr (kOrdersWork<CallStruct>) {
      if (is_refused(result)) [[unlikely]]
        note_refused_call(made, result, caller);
    }
    if constexpr (kOrdersWork<CallStruct> || kTouches<CallStruct>) {
      if (g_hooks.kernel_reports.load(std::memory_order_relaxed)) [[unlikely]]
        take_kernel_reports(CallStruct::kEntryPoint, caller);
    }
    if (record.begun()) end<CallStruct>(record, result, caller);
    return result;
  }

 private:
  // A cold function would be compiled for size: then it chooses the arguments in a loop.
  [[gnu::hot, gnu::noinline]] static void begin_launch(RecordedCall& record,
                                                       const CallStruct& made) {
    record.begin(made);
  }
  [[gnu::cold, gnu::noinline]] static void begin(RecordedCall& record, const CallStruct& made) {
    record.begin(made);
  }
  /// The injected answer to the call; nullopt if the call is to be made. A driver may call its own
  /// exported functions through this wrapper: such calls are not the program's.
  [[gnu::cold, gnu::noinline]] static std::optional<CUresult> fail_on_purpose(
      Injector& injector, const CallStruct& made, const Caller& direct) {
    if (in_flight()) return std::nullopt;
    const RuntimeCall* const runtime = runtime_call();
    return injector.answer(CallStruct::kEntryPoint, call_facts(made),
                           runtime ? runtime->caller : direct);
  }
};

template <Symbol symbol, EntryPoint entry>
void* address() {
  if constexpr (entry == EntryPoint::kCount) {
    return nullptr;
  } else if constexpr (!CallOf<entry>::kIntercepted) {
    return nullptr;
  } else {
    using CallStruct = CallOf<entry>;
    return reinterpret_cast<void*>(
        &Wrapper<symbol, CallStruct, typename CallStruct::Function>::call);
  }
}

// `Other` in entry_points.def stands for a known ABI that belongs to no entry point.
constexpr EntryPoint entry_of_kOther = EntryPoint::kCount;
#define CUVMM_ENTRY(Name, area, ...) constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#define CUVMM_BASE(Name, ...) constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#include "api/entry_points.def"

}  // namespace

void* wrapper_of(Symbol symbol) {
  switch (symbol) {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  case Symbol::k_##symbol:                                \
    return address<Symbol::k_##symbol, entry_of_k##Name>();
#include "api/entry_points.def"
    default:
      return nullptr;
  }
}

}  // namespace cuvmm::shim
