// SPDX-License-Identifier: Apache-2.0
// Writing that the program does not notice.
#pragma once

#include <string_view>

namespace cuvmm {

/// Writes all of `text` to `fd`, in one system call where the kernel takes it whole. Returns 0 or
/// an errno; errno itself stays. Raises neither SIGPIPE (nobody reads) nor SIGXFSZ (RLIMIT_FSIZE),
/// and is no cancellation point. Async-signal-safe.
int raw_write(int fd, std::string_view text) noexcept;

}  // namespace cuvmm
