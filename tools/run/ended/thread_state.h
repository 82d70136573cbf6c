// SPDX-License-Identifier: Apache-2.0
// Reads the state of a thread from its stat file in /proc.
#pragma once

#include <cstdint>
#include <string>

namespace cuvmm::tools {

struct ThreadState {
  char state = '\0';              ///< as ps prints it; '\0': the thread does not exist
  std::uint64_t start = 0;        ///< when the thread started, in clock ticks since boot
  std::uint64_t start_stack = 0;  ///< where the stack of its program begins; 0: it has no memory
  bool dead() const { return state == '\0' || state == 'Z' || state == 'X'; }
  /// Whether exec replaced the program whose stack began at `before`. An ending process loses its
  /// memory before it is dead: its state still says that it runs, and start_stack is 0.
  bool runs_another_program(std::uint64_t before) const {
    return !dead() && start_stack != 0 && start_stack != before;
  }
};

/// Reads the text of a stat file of a process or a thread. Returns the default where the text is no
/// stat file.
ThreadState thread_state_of(const std::string& stat);
/// Reads the stat file of a folder in /proc.
ThreadState thread_state(const std::string& folder);

}  // namespace cuvmm::tools
