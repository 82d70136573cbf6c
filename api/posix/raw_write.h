// SPDX-License-Identifier: Apache-2.0
// A write that the program does not notice.
#pragma once

#include <string_view>

namespace cuvmm {

/// Writes all of `text` to `fd`, in one system call if the kernel takes it whole. Returns 0 or an
/// errno; errno itself stays. Raises neither SIGPIPE (the pipe has no reader) nor SIGXFSZ
/// (RLIMIT_FSIZE), and is no cancellation point. Async-signal-safe.
int raw_write(int fd, std::string_view text) noexcept;

}  // namespace cuvmm
