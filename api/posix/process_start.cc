// SPDX-License-Identifier: Apache-2.0
#include "api/posix/process_start.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuvmm {

// The 22nd field of /proc/PID/stat; the second one, in brackets, may hold anything.
std::uint64_t process_start(const char* process) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%s/stat", process);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

RunId run_of_this_process() noexcept {
  RunId run;
  const char* const text = std::getenv("CUVMM_RUN");
  if (!text || std::sscanf(text, "%" SCNu64 "-%" SCNu64, &run.pid, &run.start) != 2) return {};
  return run;
}

std::uint64_t pid_namespace() noexcept {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace cuvmm
