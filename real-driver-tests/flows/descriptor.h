// SPDX-License-Identifier: Apache-2.0
// Takes a descriptor of another process, as UCX and hip-tests do.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "examples/bugs/bug.h"
#include "examples/descriptor.h"

namespace flow {

/// Lets processes of this user take descriptors even where the kernel demands ptrace rights.
inline void let_others_take() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

/// Returns a copy of descriptor `fd` of process `pid`, by pidfd_getfd(2).
inline int taken_from(pid_t pid, int fd) {
  const auto other = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (other < 0) bug::skip("there is no pidfd_open here");
  const auto mine = static_cast<int>(syscall(SYS_pidfd_getfd, other, fd, 0));
  close(other);
  if (mine < 0) bug::skip("pidfd_getfd is not allowed here");
  return mine;
}

}  // namespace flow
