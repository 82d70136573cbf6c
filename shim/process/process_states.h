// SPDX-License-Identifier: Apache-2.0
// Which processes are locked or checkpointed, as far as this process knows.
#pragma once

#include <map>
#include <optional>

#include "rulebook/leaks/checkpoint.h"
#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

/// The states that this process has brought about in others and itself, or was told.
class ProcessStates {
 public:
  void set(int pid, ProcessState state) {
    const Locked lock(mutex_);
    states_[pid] = state;
  }
  std::optional<ProcessState> find(int pid) {
    const Locked lock(mutex_);
    const auto found = states_.find(pid);
    return found == states_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  OwnedMutex mutex_;
  std::map<int, ProcessState> states_ CUVMM_GUARDED_BY(mutex_);
};
inline ProcessStates& process_states() {
  static ProcessStates* const states = new ProcessStates();  // threads may outlive main()
  return *states;
}

}  // namespace cuvmm::shim
