// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/alive.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuvmm::shim {

namespace {

// Whether a thread has begun to end: the kernel still lists it for a moment after it was joined.
bool ends(int thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  // If the process has no free descriptor, the thread counts as running.
  if (fd < 0) return errno == ENOENT || errno == ESRCH;
  char text[512];
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return true;
  text[got] = '\0';
  // The thread's name is in parentheses, and may contain some itself.
  const char* const rest = std::strrchr(text, ')');
  char state = '?';
  unsigned long flags = 0;
  if (!rest || std::sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) != 2) {
    return false;
  }
  constexpr unsigned long kExiting = 4;  // PF_EXITING
  return state == 'Z' || state == 'X' || (flags & kExiting) != 0;
}

}  // namespace

// Makes the system call itself, because opendir() allocates from the program's heap.
std::vector<std::uint32_t> other_threads() {
  std::vector<std::uint32_t> threads;
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return threads;
  alignas(dirent64) char block[4096];
  for (long got; (got = ::syscall(SYS_getdents64, folder, block, sizeof block)) > 0;) {
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(block + at);
      at += entry->d_reclen;
      const int thread = std::atoi(entry->d_name);
      if (thread <= 0 || thread == ::gettid() || ends(thread)) continue;
      threads.push_back(static_cast<std::uint32_t>(thread));
    }
  }
  ::close(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

Alive count_alive(const Model& model) {
  Alive alive;
  const std::vector<std::uint32_t> running = other_threads();
  const auto count = [&](const Allocation& allocation) {
    ++alive.allocations;
    alive.bytes += allocation.size;
  };
  each_alive(model, running, count, [&](const Reservation&) { ++alive.reservations; });
  return alive;
}

}  // namespace cuvmm::shim
