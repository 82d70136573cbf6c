// SPDX-License-Identifier: Apache-2.0
// A call stack as text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// The part of the path after the last '/'.
inline std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// "fill() at cache.cc:41 (app+0x1234)", "fill at cache.py:41 (Python)".
std::string frame_text(const Frame& frame);

/// The frame that shows best where the program is, as frame_text(): the innermost frame outside of
/// the Python interpreter and of bindings. The innermost frame where all frames are such; "" where
/// `frames` is empty.
std::string place_text(const std::vector<Frame>& frames);

/// "#0 fill() at cache.cc:41 (app+0x1234)": one line per frame, indented, down to main. Where the
/// Python functions are known, they replace the frames of the Python interpreter; elsewhere
/// neighbouring frames of the interpreter are one line. So are neighbouring frames of pytest.
/// Frames of Python's import system are left out. Frame::source follows in a line of its own.
std::string stack_text(const std::vector<Frame>& frames, const char* indent);

}  // namespace cuvmm::frames
