// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/stopped.h"

#include <chrono>
#include <thread>

namespace cuvmm::emulator {

constinit ProcessPage g_process_page;

void wait_until_unlocked() noexcept {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(1);
  do {
    g_process_page.inside.fetch_sub(1);
    while (g_process_page.state.load() != 0) std::this_thread::sleep_for(kBetweenLooks);
    g_process_page.inside.fetch_add(1);
  } while (g_process_page.state.load() != 0);
}

}  // namespace cuvmm::emulator
