// SPDX-License-Identifier: Apache-2.0
// A name for this process while it runs this program, for the files that it leaves. A pid is not
// enough, because it stays after exec and comes back after wrapping.
#pragma once

#include <string>

namespace cuvmm {

/// "PID-SECONDS.NANOSECONDS", the same for each call. Of two names with one pid the later is
/// greater.
std::string image_name();

/// Gives the process another name from here on: a child of fork calls this.
void start_image() noexcept;

}  // namespace cuvmm
