// SPDX-License-Identifier: Apache-2.0
// The work of the shim for one kind of call beside its work for all calls: a Policy for each entry
// point that needs it, in the file of its area. Most entry points need none.
//
// A Policy<CallStruct> may have these members, in the order in which the session uses them:
//
//   kNamesMaker     whether a later report may name the call as a maker: then the stack is taken
//                   before the driver's call. By default true if a success makes or ends an
//                   object
//   kPlatformOnly   its check() reads only the platform of the model
//   Kept            the state of one call that its hooks share
//   ask             without the lock, before the check: asks the driver or the kernel
//   unknown_pool    with the lock: a pool that the model does not know (policy/unknown_handles.h)
//   look            with the lock, before the check: finds facts of the arguments in the history
//   ended_nothing   after the driver accepted: true if the call ended no object all the same
//   made            after the driver accepted, without the lock: reads the out-parameters
//   record          after the driver accepted and the model confirmed, with the lock
//
// `ask`, `made` and `record` get (PolicyResources&, const CallStruct&, Step<CallStruct>&).
#pragma once

#include "rulebook/check/check.h"
#include "rulebook/model/model.h"
#include "shim/base/granular_bounds.h"
#include "shim/facts/facts.h"
#include "shim/facts/late_facts.h"
#include "shim/history/process_history.h"
#include "shim/queued_work/queued_work.h"

namespace cuvmm::shim {

/// The objects that the session lends to policies.
struct PolicyResources {
  FactFinder& driver;
  ProcessHistory& history;  ///< only with the lock
  GranularBounds& bounds;
  QueuedWork& work;   ///< only without the lock
  OwnedMutex& mutex;  ///< the lock; hooks that are called without it may take it
  /// The number of the newest call that was checked.
  const std::atomic<std::uint64_t>& numbers;
};

template <class CallStruct>
struct Policy {};

namespace detail {
struct Nothing {};
template <class CallStruct>
struct CallStateOf {
  using Type = Nothing;
};
template <class CallStruct>
requires requires { typename Policy<CallStruct>::CallState; }
struct CallStateOf<CallStruct> {
  using Type = typename Policy<CallStruct>::CallState;
};
}  // namespace detail

/// The facts of one call while the program makes it. A Step has only the members that its entry
/// point needs.
template <class CallStruct>
struct Step {
  LateFacts facts;
  Violations violations;
  Origin origin;
  [[no_unique_address]] typename detail::CallStateOf<CallStruct>::Type state;
  [[no_unique_address]] ChangeOf<CallStruct> change;
};

template <class CallStruct>
inline constexpr bool kNamesMaker = [] {
  if constexpr (requires { Policy<CallStruct>::kNamesMaker; }) {
    return Policy<CallStruct>::kNamesMaker;
  } else {
    return kGivesUp<CallStruct> || kMakes<CallStruct>;
  }
}();
template <class CallStruct>
inline constexpr bool kPlatformOnly = requires {
  Policy<CallStruct>::kPlatformOnly;
};

/// A Policy of a call that makes or ends an object whose maker no report names.
struct Anonymous {
  static constexpr bool kNamesMaker = false;
};

}  // namespace cuvmm::shim
