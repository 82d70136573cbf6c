// SPDX-License-Identifier: Apache-2.0
// Python functions among the native frames of the interpreter that ran them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frames/frame.h"
#include "frames/python_line.h"

namespace cuvmm::frames {

/// `native` with a frame for each of `lines`, both innermost first. The functions that one loop of
/// the interpreter ran come before the frame of that loop. Where the loops have no names, all come
/// before the interpreter's first frame; what the native frames do not reach out to comes last.
std::vector<Frame> with_python_frames(std::vector<Frame> native, std::span<const PythonLine> lines);

/// Whether the frame is one of the Python interpreter, or of the library by which ctypes calls C
/// functions.
bool of_interpreter(const Frame& frame);

/// Whether an object only hands on what Python calls, by its path: ctypes, cffi, an extension.
bool hands_on_from_python(std::string_view module);

}  // namespace cuvmm::frames
