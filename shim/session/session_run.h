// SPDX-License-Identifier: Apache-2.0
// The bodies of Session's templates: one instance per intercepted function.
#pragma once

#include <climits>
#include <optional>
#include <utility>

#include "shim/intercept/runtime_call.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace detail {

/// Marks the calling thread as inside a call, for its scope.
class InFlightScope {
 public:
  explicit InFlightScope(InFlight& call) { in_flight() = &call; }
  InFlightScope(const InFlightScope&) = delete;
  InFlightScope& operator=(const InFlightScope&) = delete;
  ~InFlightScope() { in_flight() = nullptr; }
};

/// Whether the description of external memory holds a descriptor.
/// The descriptor that an import names, where it names one.
inline std::optional<int> descriptor_of(const calls::ImportExternalMemory& call) {
  const auto* desc = call.memHandleDesc;
  if (!desc || desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return std::nullopt;
  return desc->handle.fd;
}
inline std::optional<int> descriptor_of(const calls::ImportExternalSemaphore& call) {
  const auto* desc = call.semHandleDesc;
  if (!desc || (desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
                desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD))
    return std::nullopt;
  return desc->handle.fd;
}
inline std::optional<int> descriptor_of(const void* handle, CUmemAllocationHandleType type) {
  const auto value = reinterpret_cast<std::intptr_t>(handle);
  const bool by_value = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && value >= 0;
  return by_value && value <= INT_MAX ? std::optional(static_cast<int>(value)) : std::nullopt;
}
inline std::optional<int> descriptor_of(const calls::MemImportFromShareableHandle& call) {
  return descriptor_of(call.osHandle, call.shHandleType);
}
inline std::optional<int> descriptor_of(const calls::MemPoolImportFromShareableHandle& call) {
  return descriptor_of(call.handle, call.handleType);
}

/// What the log of legacy IPC notes of a successful call.
template <class CallStruct, class Taken>
void note([[maybe_unused]] IpcLog& log, const CallStruct& call,
          [[maybe_unused]] const Taken& retired, std::uint64_t index,
          [[maybe_unused]] std::uint64_t entered) {
  if constexpr (std::is_same_v<CallStruct, calls::IpcGetMemHandle>) {
    log.exported(ipc_bytes(*call.pHandle), index);
  } else if constexpr (std::is_same_v<CallStruct, calls::IpcOpenMemHandle>) {
    log.opened(ipc_bytes(call.handle), index);
  } else if constexpr (std::is_same_v<CallStruct, calls::IpcCloseMemHandle>) {
    if (!retired.rare) return;
    for (const IpcOpen& open : retired.rare->ipc_opens) {
      if (open.count == 1) log.closed(open.bytes, index, entered);
    }
  } else if constexpr (std::is_same_v<CallStruct, calls::MemFree>) {
    if (!retired.rare) return;
    for (const IpcExport& e : retired.rare->ipc_exports) log.freed(e.bytes, index, IpcLog::now());
  } else if constexpr (kEndsContext<CallStruct>) {
    if (!retired.rare) return;
    // Whatever became of what it had opened, nobody can say that it was open any longer.
    for (const IpcOpen& open : retired.rare->context.ipc_opens) {
      log.closed(open.bytes, index, entered);
    }
  }
}

}  // namespace detail

template <class CallStruct>
CUresult Session::run(Symbol symbol, const CallStruct& call, const Caller& direct) {
  const auto function = reinterpret_cast<typename CallStruct::Function>(driver_.get(symbol));
  if (!function) return CUDA_ERROR_NOT_FOUND;
  if (in_flight() || off()) return call.invoke(function);

  // Of a runtime function's call, the place that the user knows is where that function was called.
  const RuntimeCall* const runtime = runtime_call();
  const Caller& caller = runtime ? runtime->caller : direct;
  int& program_errno = t_state.error();
  const int entry_errno = program_errno;
  CallObserver* const observer = observer_.load(std::memory_order_acquire);
  counter_.add(CallStruct::kEntryPoint);
  Step<CallStruct> step;
  if constexpr (kTouches<CallStruct>) {
    step.touched.count = touches(call, step.touched.list);
    if (!near_reservations(step.touched) && !observer) {
      const CUresult result = call.invoke(function);
      // The one thing to say of a copy that touches no reservation.
      if (result == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]] {
        report_uninitialized(call, step, caller);
      }
      return result;
    }
  }

  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                &step.violations, &step.origin, caller};
  const detail::InFlightScope scope(here);
  try {
    before(call, step);
  } catch (...) {
    turn_off();
  }

  Answer answer;
  if (options_.enforce) [[unlikely]]
    enforce(step.violations, answer);
  int driver_errno = entry_errno;
  if (!answer.enforced) [[likely]] {
    program_errno = entry_errno;
    answer.result = call.invoke(function);
    driver_errno = program_errno;
  }

  try {
    if (answer.result == CUDA_SUCCESS) [[likely]] {
      after(call, step);
      if (probes_wait_.load(std::memory_order_relaxed)) [[unlikely]]
        fell_back(CallStruct::kEntryPoint, wish_of(call));
    }
    if (answer.result != CUDA_SUCCESS || !step.violations.empty() || observer) [[unlikely]]
      conclude(call, answer, step, caller, observer);
  } catch (...) {
    turn_off();
  }
  program_errno = driver_errno;
  return answer.result;
}

template <class CallStruct>
void Session::conclude(const CallStruct& call, const Answer& answer, Step<CallStruct>& step,
                       const Caller& caller, CallObserver* observer) {
  if (answer.result != CUDA_SUCCESS && !answer.enforced) refused(call, answer.result, step);
  if (!step.violations.empty()) {
    report(Call(call), std::move(step.violations), answer, step.origin.call, capture_stack(caller));
  }
  if constexpr (!kEndsContext<CallStruct>) {
    if (observer) observer->after(Call(call), answer.result);
  }
}

template <class CallStruct>
void Session::before(const CallStruct& call, Step<CallStruct>& step) {
  if (!platform_known_.load(std::memory_order_acquire)) [[unlikely]]
    learn_platform(step.facts.write());
  if constexpr (kMakesHistory<CallStruct>) step.origin.stack = capture_stack(in_flight()->caller);
  if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    if (call.prop) step.facts.write().granularity = facts_.granularity(*call.prop);
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    step.facts.write().descriptor_valid =
        FactFinder::descriptor_valid(call.osHandle, call.shHandleType);
    if (const auto fd = detail::descriptor_of(call)) step.memory = memory_name(*fd);
  }
  look_up_external(call, step.facts);
  if constexpr (std::is_same_v<CallStruct, calls::MulticastCreate>) {
    if (call.prop) facts_.find_multicast_granularity(*call.prop, step.facts.write());
  }
  if constexpr (std::is_same_v<CallStruct, calls::IpcCloseMemHandle> || kEndsContext<CallStruct>) {
    step.entered = IpcLog::now();
  }
  if constexpr (kAsksContext<CallStruct>) facts_.find_context(step.facts.write());
  if constexpr (std::is_same_v<CallStruct, calls::IpcGetMemHandle>) {
    if (call.dptr) facts_.find_memory(call.dptr, step.facts.write());
  }
  if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    if (const auto fd = detail::descriptor_of(call)) step.memory = memory_name(*fd);
  }
  if constexpr (kTouches<CallStruct>) {
    CUstream stream = nullptr;
    if constexpr (kOnStream<CallStruct>) stream = call.hStream;
    find_devices(step.touched, stream, step.facts.write());
  }
  if constexpr (kBatch<CallStruct>) {
    // As single copies that are not near; without the lock and without a number.
    if (!near_reservations(call)) return;
    facts_.find_device(call.hStream, false, step.facts.write());
  }

  if constexpr (kChecksPlatformOnly<CallStruct>) {
    // It was read once, before this flag was set, and stays as it is.
    if (platform_known_.load(std::memory_order_acquire)) [[likely]] {
      step.violations = check_call(call, step);
      if constexpr (kNumberedLate<CallStruct>) {
        if (step.violations.empty()) [[likely]]
          return;
      }
      const std::lock_guard lock(mutex_);
      number(step.origin);
      return;
    }
  }
  const std::lock_guard lock(mutex_);
  number(step.origin);
  look_up_unknown(call, step.facts);
  step.violations = check_call(call, step);
  if constexpr (kRetires<CallStruct>) {
    // What the driver is to refuse gives nothing up: another thread may be at work with it.
    if (!step.violations.empty()) [[unlikely]] {
      if (options_.enforce && first_to_enforce(step.violations)) return;
      if (first_to_refuse(step.violations)) return;
    }
    // What the call gives up is gone before the driver can give the name to another thread.
    if constexpr (kBuriesAtOnce<CallStruct>) {
      model_.give_up(call, step.origin, step.retired);
    } else {
      model_.retire(call, step.retired);
    }
  } else if constexpr (kRecordsAtOnce<CallStruct>) {
    if (step.violations.empty()) model_.record(call, step.origin, step.recorded);
  }
}

template <class CallStruct>
void Session::look_up_unknown(const CallStruct& call, LateFacts& facts) {
  // The fact is about the one handle that the model does not know; of two it says nothing.
  int unknown = 0;
  CUmemGenericAllocationHandle stranger = 0;
  visit_handles(call, [&](CUmemGenericAllocationHandle handle) {
    if (model_.allocation(handle)) return;
    ++unknown;
    stranger = handle;
  });
  if (unknown == 1) [[unlikely]]
    ask_about(stranger, facts.write());
  if constexpr (kTakesPool<CallStruct>) {
    if (call.pool && !model_.pools().find(call.pool)) [[unlikely]]
      ask_about(call.pool, facts.write());
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemPoolExportPointer>) {
    const PoolMemory* memory = model_.pools().memory_at(call.ptr);
    if (memory && !model_.pools().find(memory->pool))
      ask_about(reinterpret_cast<CUmemoryPool>(memory->pool), facts.write());
  }
  if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    if (const auto fd = detail::descriptor_of(call)) {
      facts.write().object_size = exported_size(*fd);
      // A driver may refuse that, too, for reasons of its own.
      if (exports_allocation(*fd)) facts.write().descriptor_valid = Facts::Answer::kYes;
    }
  }
  if constexpr (std::is_same_v<CallStruct, calls::ImportExternalSemaphore> ||
                std::is_same_v<CallStruct, calls::MemPoolImportFromShareableHandle>) {
    const auto fd = detail::descriptor_of(call);
    if (fd && exports_allocation(*fd)) facts.write().descriptor_kind = Facts::Answer::kNo;
  }
}

template <class CallStruct>
void Session::refused(const CallStruct& call, CUresult result, Step<CallStruct>& step) {
  if constexpr (kNumberedLate<CallStruct>) {
    const std::lock_guard lock(mutex_);
    if (step.origin.call == 0) number(step.origin);
  }
  // After the driver's own end nothing is judged, and what the program meant to give up is gone:
  // its destructors go on with the next object.
  const bool over = result == CUDA_ERROR_DEINITIALIZED;
  if (over) step.violations = {};
  if constexpr (kRetires<CallStruct>) {
    const std::lock_guard lock(mutex_);
    if (over) {
      step.retired = {};
    } else if (!first_to_refuse(step.violations)) {
      if constexpr (kBuriesAtOnce<CallStruct>) model_.unbury(step.retired, step.origin);
      model_.restore(std::move(step.retired), step.origin);
    } else if constexpr (std::is_same_v<CallStruct, calls::MemAddressFree>) {
      model_.note_refused(call, step.origin);
    }
  }
  if constexpr (kRecordsAtOnce<CallStruct>) {
    const std::lock_guard lock(mutex_);
    if (step.recorded.done) model_.unrecord(call, step.origin, step.recorded);
  }
  if (result == CUDA_ERROR_NOT_INITIALIZED) {
    recheck_uninitialized(call, step);
  } else if constexpr (kTouches<CallStruct> || kBatch<CallStruct>) {
    // Other codes have other reasons, such as a thread without a context.
    if (step.violations.empty() && result == info(Rule::kDataMapped).code) {
      explain_refusal(call, step);
    }
  }
}

template <class CallStruct>
void Session::explain_refusal(const CallStruct& call, Step<CallStruct>& step) {
  if constexpr (kTouches<CallStruct>) {
    step.violations = explain_refusal(step.touched);
  } else if (near_reservations(call)) {
    for (std::size_t i = 0; i < call.count && step.violations.empty(); ++i) {
      Touched one;
      one.count = touches(copy_of(call, i), one.list);
      step.violations = explain_refusal(one);
      for (Violation& v : step.violations) v.message.insert(0, "copy " + std::to_string(i) + ": ");
    }
  }
}

template <class CallStruct>
void Session::retire_late(const CallStruct& call, Step<CallStruct>& step) {
  model_.retire(call, step.retired);
  // The driver may have given the name out again before we came here.
  if (newer(step.retired, step.origin)) {
    model_.restore(std::exchange(step.retired, {}));
  }
}

template <class CallStruct>
void Session::after([[maybe_unused]] const CallStruct& call,
                    [[maybe_unused]] Step<CallStruct>& step) {
  if constexpr (kBuriesAtOnce<CallStruct>) {
    if (step.violations.empty() || !first_to_refuse(step.violations)) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    retire_late(call, step);
    model_.bury(step.retired, step.origin);
  } else if constexpr (kRetires<CallStruct>) {
    if constexpr (std::is_same_v<CallStruct, calls::DevicePrimaryCtxRelease>) {
      if (facts_.primary_context_active(call.dev) == Facts::Answer::kYes) {
        const std::lock_guard lock(mutex_);
        model_.restore(std::move(step.retired));
        return;
      }
    }
    const std::lock_guard lock(mutex_);
    if (first_to_refuse(step.violations)) [[unlikely]]
      retire_late(call, step);
    detail::note(ipc_log_, call, step.retired, step.origin.call, step.entered);
    model_.bury(step.retired, step.origin);
    if constexpr (kEndsContext<CallStruct>) plain_ended_ = step.origin.call;
    if constexpr (std::is_same_v<CallStruct, calls::MemFree>) {
      if (was_reserved(call.dptr)) plain_ended_ = step.origin.call;
    }
  } else if constexpr (kCommits<CallStruct>) {
    if constexpr (kRecordsAtOnce<CallStruct>) {
      if (step.recorded.done) return;
    }
    commit(call, step);
  }
}

template <class CallStruct>
void Session::commit(const CallStruct& call, Step<CallStruct>& step) {
  Allocation known;
  [[maybe_unused]] bool is_memory = true;
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    known = facts_.describe_import(*call.handle, is_memory);
  }
  if constexpr (std::is_same_v<CallStruct, calls::IpcOpenMemHandle>) {
    facts_.find_memory(*call.pdptr, step.facts.write());
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemPoolImportPointer>) {
    facts_.find_pool_memory(*call.ptr_out, step.facts.write());
  }
  DescriptorIdentity identity;
  if constexpr (std::is_same_v<CallStruct, calls::MemExportToShareableHandle>) {
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      identity = identify_descriptor(*static_cast<const int*>(call.shareableHandle));
    }
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemAddressReserve>) {
    widen_bounds(*call.ptr, call.size);
  }
  if constexpr (std::is_same_v<CallStruct, calls::ExternalMemoryGetMappedBuffer>) {
    widen_bounds(*call.devPtr, call.bufferDesc->size);
  }
  // Some drivers map past the end of a reservation; a copy there is ours to judge as well.
  if constexpr (std::is_same_v<CallStruct, calls::MemMap>) widen_bounds(call.ptr, call.size);
  const std::lock_guard lock(mutex_);
  if constexpr (kNumberedLate<CallStruct>) {
    if (step.origin.call == 0) [[likely]]
      number(step.origin);
  }
  detail::note(ipc_log_, call, step.retired, step.origin.call, step.entered);
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    model_.commit(call, known, step.origin);
    // A driver describes memory, and refuses to describe a multicast object.
    if (!is_memory) {
      MulticastObject unknown;
      unknown.handle = *call.handle;
      model_.commit_multicast_import(std::move(unknown), step.origin);
    }
    imported_[*call.handle] = std::move(step.memory);
  } else if constexpr (requires { model_.commit(call, step.facts.read(), step.origin); }) {
    model_.commit(call, step.facts.read(), step.origin);
  } else {
    model_.commit(call, step.origin);
  }
  // What every device may touch need not be judged.
  if constexpr (std::is_same_v<CallStruct, calls::MemAllocFromPoolAsync>) {
    if (model_.pools().bounded_memory_at(*call.dptr)) widen_bounds(*call.dptr, call.bytesize);
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemPoolImportPointer>) {
    const PoolMemory* memory = model_.pools().bounded_memory_at(*call.ptr_out);
    if (memory) widen_bounds(memory->base, memory->size + 1);
  }
  if constexpr (std::is_same_v<CallStruct, calls::IpcOpenMemHandle>) {
    const IpcOpen* open = model_.ipc().open_of(*call.pdptr);
    if (open && model_.platform().device_count != 1) widen_bounds(open->pointer, open->size + 1);
  }
  if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    imported_[reinterpret_cast<std::uintptr_t>(*call.extMem_out)] = std::move(step.memory);
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    if (!imported_.empty()) imported_.erase(*call.handle);  // the value of an import that ended
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemExportToShareableHandle>) {
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      exported_[*static_cast<const int*>(call.shareableHandle)] = std::move(identity);
    }
  }
}

template <class CallStruct>
void Session::look_up_external(const CallStruct& call, [[maybe_unused]] LateFacts& facts) {
  if constexpr (std::is_same_v<CallStruct, calls::ImportExternalMemory>) {
    if (!call.memHandleDesc) return;
    facts_.find_context(facts.write());
    if (const auto fd = detail::descriptor_of(call))
      facts.write().descriptor_valid = FactFinder::descriptor_valid(*fd);
  } else if constexpr (std::is_same_v<CallStruct, calls::ImportExternalSemaphore>) {
    facts_.find_context(facts.write());
    if (const auto fd = detail::descriptor_of(call))
      facts.write().descriptor_valid = FactFinder::descriptor_valid(*fd);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemPoolImportFromShareableHandle>) {
    facts.write().descriptor_valid = FactFinder::descriptor_valid(call.handle, call.handleType);
  } else if constexpr (std::is_same_v<CallStruct, calls::MemMapArrayAsync>) {
    facts_.find_device(call.hStream, false, facts.write());
  }
}

template <class CallStruct>
void Session::report_uninitialized(const CallStruct& call, Step<CallStruct>& step,
                                   const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    {
      const std::lock_guard lock(mutex_);
      number(step.origin);
    }
    recheck_uninitialized(call, step);
    report(Call(call), std::move(step.violations), {.result = CUDA_ERROR_NOT_INITIALIZED},
           step.origin.call, capture_stack(caller));
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

template <class CallStruct>
void Session::recheck_uninitialized(const CallStruct& call, Step<CallStruct>& step) {
  step.facts.write().initialized = Facts::Answer::kNo;
  const std::lock_guard lock(mutex_);
  if (step.origin.call == 0) number(step.origin);
  // Nothing else is worth saying: the driver looked at none of the arguments.
  step.violations = check_call(call, step);
}

template <class CallStruct>
Violations Session::check_call(const CallStruct& call, const Step<CallStruct>& step) const {
  if constexpr (kTouches<CallStruct>) {
    return check_touches(model_, CallStruct::kEntryPoint, step.touched.list, step.touched.count,
                         step.facts.read());
  } else {
    return check(model_, call, step.facts.read());
  }
}

}  // namespace cuvmm::shim
