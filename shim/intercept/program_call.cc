// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/program_call.h"

#include <cstdint>

#include "shim/base/interrupted.h"

// The addresses at which this library begins, and at which its code ends.
extern "C" const char __ehdr_start;  // NOLINT(bugprone-reserved-identifier): the linker's name
extern "C" const char etext;

namespace cuvmm::shim {

Process* hears_of(const Caller& caller) noexcept {
  const std::uintptr_t from = caller.return_address;
  const bool from_shim = from >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
                         from < reinterpret_cast<std::uintptr_t>(&etext);
  if (from_shim || t_state.on_own_stack) return nullptr;
  Process* const process = Process::if_made();
  return process && process->is_current() && !in_signal_handler() ? process : nullptr;
}

}  // namespace cuvmm::shim
