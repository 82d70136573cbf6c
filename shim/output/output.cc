// SPDX-License-Identifier: Apache-2.0
#include "shim/output/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>

#include "api/posix/raw_write.h"
#include "shim/output/private_descriptor.h"

namespace cuvmm::shim {

namespace {

std::atomic<bool> g_silent{false};
// Written at load, and in a child of fork, which has one thread.
constinit PrivateDescriptor g_stderr;
constinit bool g_known = false;

int place_of_text() {
  // cuvmm's unit tests use this code without being loaded like the shim.
  if (!g_known || g_stderr.is_same_file(STDERR_FILENO)) return STDERR_FILENO;
  return g_stderr.get();
}

}  // namespace

void keep_stderr() noexcept {
  g_known = true;
  g_stderr.keep_copy(STDERR_FILENO);
}

void release_stderr_in_child() noexcept { g_stderr.close_but_remember(); }

void write_stderr(std::string_view text) noexcept {
  if (g_silent.load(std::memory_order_relaxed)) return;
  const int place = place_of_text();
  if (place >= 0) raw_write(place, text);
}

std::size_t stderr_columns() noexcept {
  constexpr std::size_t kUsual = 80;
  const int place = place_of_text();
  winsize size{};
  if (place < 0 || ::ioctl(place, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col == 0 ? kUsual : size.ws_col;
}

void silence_stderr(bool silent) noexcept { g_silent.store(silent, std::memory_order_relaxed); }

void say(std::string_view text) noexcept {
  char line[1024] = "cuvmm: ";
  std::size_t length = 7;
  const std::size_t room = sizeof line - length - 1;
  const std::size_t take = text.size() < room ? text.size() : room;
  text.copy(line + length, take);
  length += take;
  line[length++] = '\n';
  write_stderr({line, length});
}

}  // namespace cuvmm::shim
