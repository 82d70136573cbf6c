// The bodies of Session's templates: one instance per intercepted function.
#pragma once

#include <utility>

#include "shim/session.h"

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

/// check() of the call; copies by the bytes they touch.
template <class CallStruct>
Violations check_call(const Model& model, const CallStruct& call, const Touch* touched,
                      std::size_t touches, const Facts& facts) {
  if constexpr (kTouches<CallStruct>) {
    return check_touches(model, CallStruct::kEntryPoint, touched, touches, facts);
  } else {
    return check(model, call, facts);
  }
}

/// Model::commit for the calls that make something; reads the out-parameters.
template <class CallStruct>
void record(Model& model, const CallStruct& call, const Facts& facts,
            const Allocation& known_import, Origin at) {
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    model.commit(call, known_import, at);
  } else if constexpr (requires { model.commit(call, facts, at); }) {
    model.commit(call, facts, at);
  } else if constexpr (requires { model.commit(call, at); }) {
    model.commit(call, at);
  }
}

}  // namespace detail

template <class CallStruct>
CUresult Session::run(Symbol symbol, const CallStruct& call, const Caller& caller) noexcept {
  const auto function = reinterpret_cast<typename CallStruct::Function>(driver_.get(symbol));
  if (!function) return CUDA_ERROR_NOT_FOUND;
  if (in_flight() || off()) return call.invoke(function);

  const int entry_errno = errno;
  CallObserver* const observer = observer_.load(std::memory_order_acquire);
  Step<CallStruct> step;
  step.origin.call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  counts_[static_cast<std::size_t>(CallStruct::kEntryPoint)].fetch_add(1,
                                                                       std::memory_order_relaxed);
  if constexpr (kTouches<CallStruct>) {
    step.touches = touches(call, step.touched);
    if (!near_reservations(step.touched, step.touches) && !observer_) {
      const CUresult result = call.invoke(function);
      // The one thing to say of a copy that touches no reservation.
      if (result == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]] {
        report_uninitialized(call, step, caller);
      }
      return result;
    }
  }

  InFlight here{&call, [](const void* c) { return Call(*static_cast<const CallStruct*>(c)); },
                &step.violations, step.origin.call, caller};
  const detail::InFlightScope scope(here);
  try {
    before(call, step);
  } catch (...) {
    turn_off();
  }

  Answer answer;
  const Violation* enforced = options_.enforce ? first_to_enforce(step.violations) : nullptr;
  int driver_errno = entry_errno;
  if (enforced) {
    answer = {.result = enforced_code(*enforced), .enforced = true};
  } else {
    errno = entry_errno;
    answer.result = call.invoke(function);
    driver_errno = errno;
  }

  try {
    if (!answer.enforced) after(call, answer.result, step);
    if (!step.violations.empty()) [[unlikely]] {
      conclude(Call(call), std::move(step.violations), answer, step.origin.call,
               capture_stack(caller));
    }
    if (observer) [[unlikely]]
      observer->after(Call(call), answer.result);
  } catch (...) {
    turn_off();
  }
  errno = driver_errno;
  return answer.result;
}

template <class CallStruct>
void Session::before(const CallStruct& call, Step<CallStruct>& step) {
  if (!platform_known_.load(std::memory_order_acquire)) [[unlikely]]
    learn_platform(step.facts);
  if constexpr (kMakesHistory<CallStruct>) step.origin.stack = capture_stack(in_flight()->caller);
  if constexpr (std::is_same_v<CallStruct, calls::MemCreate>) {
    if (call.prop) step.facts.granularity = facts_.granularity(*call.prop);
  }
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    step.facts.descriptor_valid = FactFinder::descriptor_valid(call.osHandle, call.shHandleType);
  }
  if constexpr (kTouches<CallStruct>) {
    CUstream stream = nullptr;
    if constexpr (kOnStream<CallStruct>) stream = call.hStream;
    find_devices(step.touched, step.touches, stream, step.facts);
  }

  std::unique_lock lock(mutex_);
  if constexpr (kTakesHandle<CallStruct>) {
    if (!model_.allocation(call.handle)) [[unlikely]] {
      lock.unlock();
      step.facts.handle_readable = facts_.handle_readable(call.handle);
      lock.lock();
    }
  }
  step.violations = detail::check_call(model_, call, step.touched, step.touches, step.facts);
  const bool answered = options_.enforce && first_to_enforce(step.violations);
  // What the call gives up is gone before the driver can give the name to another thread.
  if (!answered) step.retired = model_.retire(call);
}

template <class CallStruct>
void Session::after(const CallStruct& call, CUresult result, Step<CallStruct>& step) {
  if (result != CUDA_SUCCESS) {
    {
      const std::lock_guard lock(mutex_);
      model_.restore(std::move(step.retired), step.origin);
    }
    if (result == CUDA_ERROR_NOT_INITIALIZED) recheck_uninitialized(call, step);
    return;
  }
  if constexpr (kTouches<CallStruct> || kFrees<CallStruct>) return;
  Allocation known;
  if constexpr (std::is_same_v<CallStruct, calls::MemImportFromShareableHandle>) {
    known = facts_.describe_import(*call.handle);
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
  // Some drivers map past the end of a reservation; a copy there is ours to judge as well.
  if constexpr (std::is_same_v<CallStruct, calls::MemMap>) widen_bounds(call.ptr, call.size);
  const std::lock_guard lock(mutex_);
  model_.bury(std::move(step.retired), step.origin);
  detail::record(model_, call, step.facts, known, step.origin);
  if constexpr (std::is_same_v<CallStruct, calls::MemExportToShareableHandle>) {
    if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      exported_[*static_cast<const int*>(call.shareableHandle)] = std::move(identity);
    }
  }
}

template <class CallStruct>
void Session::report_uninitialized(const CallStruct& call, Step<CallStruct>& step,
                                   const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    recheck_uninitialized(call, step);
    conclude(Call(call), std::move(step.violations), {.result = CUDA_ERROR_NOT_INITIALIZED},
             step.origin.call, capture_stack(caller));
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

template <class CallStruct>
void Session::recheck_uninitialized(const CallStruct& call, Step<CallStruct>& step) {
  step.facts.initialized = Facts::Answer::kNo;
  const std::lock_guard lock(mutex_);
  // Nothing else is worth saying: the driver looked at none of the arguments.
  step.violations = detail::check_call(model_, call, step.touched, step.touches, step.facts);
}

}  // namespace cuvmm::shim
