// SPDX-License-Identifier: Apache-2.0
// A descriptor goes to another process beside bytes, by SCM_RIGHTS.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace cuvmm {

/// sendmsg() on a connected socket, with `fd` unless that is -1. Goes on after signals, and raises
/// no SIGPIPE.
ssize_t send_with_descriptor(int socket, std::span<iovec> parts, int fd);

/// recvmsg() that goes on after signals. `fd` becomes the descriptor that came, close-on-exec, or
/// -1.
ssize_t receive_with_descriptor(int socket, std::span<iovec> parts, int& fd);

}  // namespace cuvmm
