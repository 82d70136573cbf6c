// SPDX-License-Identifier: Apache-2.0
// Makes frames of stacks for tests.
#pragma once

#include "frames/frame.h"

namespace cuvmm::frames {

/// A frame at "+0x10" of `module`.
inline Frame frame(const char* function, const char* module) {
  return {function, module, 16, "", 0};
}

}  // namespace cuvmm::frames
