// SPDX-License-Identifier: Apache-2.0
// Frames of stacks, for tests.
#pragma once

#include "live/frames/frame.h"

namespace cuvmm::live {

/// At "+0x10" of `module`.
inline Frame frame(const char* function, const char* module) {
  return {function, module, 16, "", 0};
}

}  // namespace cuvmm::live
