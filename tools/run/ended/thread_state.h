// SPDX-License-Identifier: Apache-2.0
// A thread, as its stat file in /proc describes it.
#pragma once

#include <cstdint>
#include <string>

namespace cuvmm::tools {

struct ThreadState {
  char state = '\0';              ///< as ps shows it; '\0': there is no such thread
  std::uint64_t start = 0;        ///< when it started, in clock ticks since boot
  std::uint64_t start_stack = 0;  ///< where its program's stack begins; 0: it has no memory
  bool dead() const { return state == '\0' || state == 'Z' || state == 'X'; }
  /// Whether exec replaced the program whose stack began at `before`. A process that is ending
  /// loses its memory before it is dead: it still runs then, without a stack.
  bool runs_another_program(std::uint64_t before) const {
    return !dead() && start_stack != 0 && start_stack != before;
  }
};

/// Reads the text of /proc/PID/stat or of a thread's; nothing known where it is none.
ThreadState thread_state_of(const std::string& stat);
/// The same of a folder in /proc.
ThreadState thread_state(const std::string& folder);

}  // namespace cuvmm::tools
