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
#include <new>

#include "shim/stack/own_descriptors.h"

namespace cuvmm::shim {

namespace {

// Whether a thread has begun to end: the kernel still lists it for a moment after it was joined.
bool ends(pid_t process, int thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  // If the file cannot be opened for another reason, the thread counts as running.
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
static std::vector<std::uint32_t> list_threads(pid_t process, pid_t caller) {
  std::vector<std::uint32_t> threads;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", process);
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return threads;
  alignas(dirent64) char block[4096];
  for (long got; (got = ::syscall(SYS_getdents64, folder, block, sizeof block)) > 0;) {
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(block + at);
      at += entry->d_reclen;
      const int thread = std::atoi(entry->d_name);
      if (thread <= 0 || thread == caller || ends(process, thread)) continue;
      threads.push_back(static_cast<std::uint32_t>(thread));
    }
  }
  ::close(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

// A program without a free descriptor has its threads all the same: a leak that one of them works
// with would be a false finding.
std::vector<std::uint32_t> other_threads(std::span<const std::uint32_t> asleep) {
  const pid_t process = ::getpid(), caller = ::gettid();
  std::vector<std::uint32_t> threads;
  bool out_of_memory = false;
  with_descriptors([&]() noexcept {
    try {
      threads = list_threads(process, caller);
    } catch (...) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
  std::erase_if(threads, [&](std::uint32_t thread) {
    return std::binary_search(asleep.begin(), asleep.end(), thread);
  });
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
