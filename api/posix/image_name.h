// SPDX-License-Identifier: Apache-2.0
// A name for this process while it is this program: of the files that it leaves. A pid comes back
// after exec, and after wrapping.
#pragma once

#include <string>

namespace cuvmm {

/// "PID-SECONDS.NANOSECONDS", each time the same; of one pid's names the later one is greater.
std::string image_name();

/// From here on there is another name: in a child of fork.
void start_image() noexcept;

}  // namespace cuvmm
