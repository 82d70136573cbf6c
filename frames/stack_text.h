// SPDX-License-Identifier: Apache-2.0
// A call stack as text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// What follows the last '/'.
inline std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// "fill() at cache.cc:41 (app+0x1234)", "fill at cache.py:41 (Python)".
std::string frame_text(const Frame& frame);

/// The frame that says best where the program is, as frame_text(): the innermost one that is no
/// part of the Python interpreter and of no binding; "" where there is none at all.
std::string place_text(const std::vector<Frame>& frames);

/// "#0 fill() at cache.cc:41 (app+0x1234)", one line per frame, indented, down to main. Of the
/// Python interpreter the functions that it ran are shown; where they are not known, its frames
/// that follow each other are one line.
std::string stack_text(const std::vector<Frame>& frames, const char* indent);

}  // namespace cuvmm::frames
