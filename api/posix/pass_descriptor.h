// SPDX-License-Identifier: Apache-2.0
// Sends a descriptor to another process together with bytes, by SCM_RIGHTS.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace cuvmm {

/// sendmsg() on a connected socket, with `fd` unless that is -1. Repeats the call after a signal,
/// and raises no SIGPIPE.
ssize_t send_with_descriptor(int socket, std::span<iovec> parts, int fd);

/// recvmsg(), repeated after a signal. `fd` becomes the received descriptor, close-on-exec, or -1.
ssize_t receive_with_descriptor(int socket, std::span<iovec> parts, int& fd);

}  // namespace cuvmm
