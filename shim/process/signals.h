// SPDX-License-Identifier: Apache-2.0
// Fatal signals. cuvmm writes its report, and then the process dies of the signal as it would have
// without cuvmm.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// The last report of a process that a signal ends, in steps.
class DeathReport {
 public:
  /// False: there is one already.
  virtual bool begin() noexcept = 0;
  /// What the signal tells; `known`: the address is that of a fault.
  virtual void note_signal(int signal, std::uintptr_t address, bool known) noexcept = 0;
  /// What is known goes to the files, and the text is made ready; safe in any signal handler.
  virtual void report_death() noexcept = 0;
  /// The same again with symbols, and as text. May not come to its end: then the other one.
  virtual void tell_with_symbols() noexcept = 0;
  virtual void tell_without_symbols() noexcept = 0;
  virtual void end() noexcept = 0;

 protected:
  ~DeathReport() = default;
};

/// Takes SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT where the program left them at their default.
/// The process still dies of the same signal, with its core dump. `report` outlives the process.
void handle_fatal_signals(DeathReport& report) noexcept;

/// Ends the process in `seconds` with exit_group(status), whatever it is stuck in then.
void exit_if_stuck(unsigned seconds, int status) noexcept;

}  // namespace cuvmm::shim
