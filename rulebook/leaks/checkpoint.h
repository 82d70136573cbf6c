// SPDX-License-Identifier: Apache-2.0
// Checkpoints of processes (cuCheckpointProcess...): the order of the calls, their arguments, and
// the objects on which a driver's checkpoint hangs or fails, or which a restore loses.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"

namespace cuvmm {

/// The states of a process, with cuda.h's numbers.
enum class ProcessState { kRunning, kLocked, kCheckpointed, kFailed };
enum class CheckpointStep { kLock, kCheckpoint, kRestore, kUnlock };

ProcessState wanted_state(CheckpointStep step);
ProcessState next_state(CheckpointStep step);
const char* words(ProcessState state);

/// The violation of a step in a process whose state the caller knows. Never certain, because
/// another process may have changed the state since.
Violations check_checkpoint_order(CheckpointStep step, int pid, std::optional<ProcessState> known);
/// The violation of arguments of `size` bytes; the first `used` bytes have meanings.
Violations check_checkpoint_reserved(const void* args, std::size_t used, std::size_t size);
/// `pairs`: of 16 bytes each for the old device and for the new one.
Violations check_checkpoint_pairs(const void* pairs, unsigned count);
Violations check_checkpoint_out(const char* parameter);

/// Why a kind of object is in the way of a checkpoint.
enum class Blocking {
  kMulticast,
  kIpcOpened,
  kExported,
  kImported,
  kNumaMemory,
  kExternal,
  kManaged,
  kCount
};
/// What is in the way: "multicast object", "opened legacy IPC memory", ...
const char* words(Blocking kind);
/// What happens: one sentence, with the report that says so.
const char* effect(Blocking kind);

struct Blocker {
  Blocking kind;
  ObjectRef object;
};
/// Whether memory of an allocation is in the way by itself.
std::optional<Blocking> blocking(const Allocation& allocation);
/// The objects of the model that are in the way.
std::vector<Blocker> checkpoint_blockers(const Model& model);
/// One violation that counts them by kind, and names the first of each kind.
Violations check_checkpoint_blockers(const std::vector<Blocker>& blockers);

}  // namespace cuvmm
