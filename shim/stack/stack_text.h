// SPDX-License-Identifier: Apache-2.0
// A call stack as text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// What follows the last '/'.
inline std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// "fill() at cache.cc:41 (app+0x1234)".
std::string frame_text(const Frame& frame);

/// "#0 fill() at cache.cc:41 (app+0x1234)", one line per frame, indented, down to main. Frames of
/// the Python interpreter that follow each other are one line: they say nothing of the program.
std::string stack_text(const std::vector<Frame>& frames, const char* indent);

}  // namespace cuvmm::shim
