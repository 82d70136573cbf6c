// SPDX-License-Identifier: Apache-2.0
// The state in which cuCheckpointProcess... puts a process: calls of a process that is stopped wait
// until it is unlocked. Another process that runs the same library finds the state by /proc, and
// reads and writes it in this process's memory, as a debugger would.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuvmm::emulator {

struct ProcessPage {
  static constexpr std::uint64_t kMagic = 0x6370746b6d6d7663;
  std::uint64_t magic = kMagic;
  std::atomic<int> pid{0};          ///< of the process that has initialised the emulator; 0 none
  std::atomic<int> state{0};        ///< cuda.h's numbers, 0 running
  std::atomic<unsigned> inside{0};  ///< calls that are under way
};
extern constinit ProcessPage g_process_page;

void wait_until_unlocked() noexcept;

/// A call of the process, except those that lock, checkpoint, restore and unlock.
class Passage {
 public:
  Passage() {
    g_process_page.inside.fetch_add(1);
    if (g_process_page.state.load() != 0) [[unlikely]]
      wait_until_unlocked();
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  ~Passage() { g_process_page.inside.fetch_sub(1); }
};

}  // namespace cuvmm::emulator
