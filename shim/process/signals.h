// SPDX-License-Identifier: Apache-2.0
// Fatal signals. cuvmm writes its report, and then the process dies of the signal as it would have
// without cuvmm.
#pragma once

#include <cstdint>

namespace cuvmm::shim {

/// A signal that ends the process.
struct DeathSignal {
  int number = 0;
  std::uintptr_t address = 0;  ///< of a fault, if `fault`
  bool fault = false;
  /// The thread that handles it brought it about: by a fault, or because the process sent it to
  /// itself, as abort() does.
  bool own = false;
};

/// The steps of the last report of a process that a signal ends.
class DeathReport {
 public:
  /// False: another thread makes the report already.
  virtual bool begin() noexcept = 0;
  /// Notes the facts of the signal.
  virtual void note_signal(const DeathSignal& signal) noexcept = 0;
  /// Writes the known facts to the files, and makes the text ready; safe in any signal handler.
  virtual void report_death() noexcept = 0;
  /// Writes the report again with symbols, and prints it as text. May hang or crash: then
  /// tell_without_symbols() is called.
  virtual void tell_with_symbols() noexcept = 0;
  virtual void tell_without_symbols() noexcept = 0;
  virtual void end() noexcept = 0;

 protected:
  ~DeathReport() = default;
};

/// Handles SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT if the program left them at their default.
/// The process still dies of the signal, with its core dump. `report` outlives the process.
void handle_fatal_signals(DeathReport& report) noexcept;

/// Ends the process in `seconds` with exit_group(status), even if it hangs.
void exit_if_stuck(unsigned seconds, int status) noexcept;

}  // namespace cuvmm::shim
