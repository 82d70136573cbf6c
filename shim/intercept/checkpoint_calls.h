// SPDX-License-Identifier: Apache-2.0
// Calls that lock, checkpoint, restore and unlock a process (cuCheckpointProcess...): their
// mistakes, and the states of processes as far as these calls tell.
#pragma once

#include <unistd.h>

#include <cstddef>

#include "rulebook/leaks/checkpoint.h"
#include "shim/process/process.h"
#include "shim/process/process_states.h"

namespace cuvmm::shim {

// The arguments' types, which older headers lack; passed as the pointers that they hold.
using LockArgs = const struct LockArguments*;
using CheckpointArgs = const struct CheckpointArguments*;
using RestoreArgs = const struct RestoreArguments*;
using UnlockArgs = const struct UnlockArguments*;
using StateOut = struct StateOfProcess*;
using RestoreThreadOut = struct RestoreThread*;

inline Violations step_mistakes(CheckpointStep step, int pid) {
  return check_checkpoint_order(step, pid, process_states().find(pid));
}
inline Violations deadly_arguments(int pid, LockArgs args) {
  constexpr std::size_t kTimeout = 4, kSize = 64;
  Violations out = step_mistakes(CheckpointStep::kLock, pid);
  out.append(check_checkpoint_reserved(args, kTimeout, kSize));
  // The driver may hang in the next step, when this process can do nothing about its objects.
  if (pid != ::getpid()) return out;
  const auto blockers = Process::current_session().with_model(
      [](const Model& model) { return checkpoint_blockers(model); });
  out.append(check_checkpoint_blockers(blockers));
  return out;
}
inline Violations deadly_arguments(int pid, CheckpointArgs) {
  return step_mistakes(CheckpointStep::kCheckpoint, pid);
}
inline Violations deadly_arguments(int pid, RestoreArgs args) {
  Violations out = step_mistakes(CheckpointStep::kRestore, pid);
  struct Pairs {
    const void* list;
    unsigned count;
  };
  const auto* const pairs = reinterpret_cast<const Pairs*>(args);
  if (pairs) out.append(check_checkpoint_pairs(pairs->list, pairs->count));
  return out;
}
inline Violations deadly_arguments(int pid, UnlockArgs args) {
  constexpr std::size_t kSize = 64;
  Violations out = step_mistakes(CheckpointStep::kUnlock, pid);
  out.append(check_checkpoint_reserved(args, 0, kSize));
  return out;
}
inline Violations deadly_arguments(int, StateOut out) {
  return out ? Violations{} : check_checkpoint_out("state");
}
inline Violations deadly_arguments(int, RestoreThreadOut out) {
  return out ? Violations{} : check_checkpoint_out("tid");
}

inline void note_step(CheckpointStep step, int pid) { process_states().set(pid, next_state(step)); }
inline void note_node(int pid, LockArgs) { note_step(CheckpointStep::kLock, pid); }
inline void note_node(int pid, CheckpointArgs) { note_step(CheckpointStep::kCheckpoint, pid); }
inline void note_node(int pid, RestoreArgs) { note_step(CheckpointStep::kRestore, pid); }
inline void note_node(int pid, UnlockArgs) { note_step(CheckpointStep::kUnlock, pid); }
inline void note_node(int pid, StateOut out) {
  const int state = *reinterpret_cast<const int*>(out);
  if (state >= 0 && state <= static_cast<int>(ProcessState::kFailed))
    process_states().set(pid, static_cast<ProcessState>(state));
}

}  // namespace cuvmm::shim
