// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/say.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "api/posix/cancel_off.h"
#include "api/posix/write_signals_held.h"

namespace cuvmm::emulator {

namespace {

std::atomic<bool> known{false};
std::atomic<dev_t> first_device{0};
std::atomic<ino_t> first_inode{0};

bool is_first_stderr(const struct stat& status) {
  return status.st_dev == first_device.load() && status.st_ino == first_inode.load();
}

iovec part(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

void say(std::string_view text) noexcept {
  const int error = errno;
  remember_stderr();
  struct stat status {};
  const bool open = fstat(STDERR_FILENO, &status) == 0;
  const bool a_file = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  if (open && (is_first_stderr(status) || !a_file)) {
    const CancelOff no_cancel;
    const WriteSignalsHeld no_signals;
    const iovec line[] = {part("cuvmm emulator: "), part(text), part("\n")};
    // Output that a full disk or pipe does not take is lost.
    while (writev(STDERR_FILENO, line, std::size(line)) < 0 && errno == EINTR) {
    }
  }
  errno = error;
}

bool quiet() {
  const char* text = secure_getenv("CUVMM_QUIET");
  const std::string_view value = text ? text : "";
  return !value.empty() && value != "0" && value != "no" && value != "off";
}

// Runs when the library is loaded; a program's pre-initialisers may call the emulator before that.
__attribute__((constructor)) void at_load() { remember_stderr(); }

}  // namespace

void remember_stderr() noexcept {
  if (known.exchange(true)) return;
  struct stat status {};
  if (fstat(STDERR_FILENO, &status) != 0) return;
  first_device = status.st_dev;
  first_inode = status.st_ino;
}

void complain(std::string_view text) noexcept { say(text); }

void note(std::string_view text) noexcept {
  if (!quiet()) say(text);
}

}  // namespace cuvmm::emulator
