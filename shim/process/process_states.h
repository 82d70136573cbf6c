// SPDX-License-Identifier: Apache-2.0
// Which processes are locked or checkpointed, as far as this process knows.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "rulebook/leaks/checkpoint.h"

namespace cuvmm::shim {

/// The states that this process has brought about in others and itself, or was told.
class ProcessStates {
 public:
  void set(int pid, ProcessState state) {
    const std::lock_guard lock(mutex_);
    states_[pid] = state;
  }
  std::optional<ProcessState> find(int pid) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(pid);
    return found == states_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<int, ProcessState> states_;
};
inline ProcessStates& process_states() {
  static ProcessStates* const states = new ProcessStates();  // threads may outlive main()
  return *states;
}

}  // namespace cuvmm::shim
