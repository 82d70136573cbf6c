// SPDX-License-Identifier: Apache-2.0
// Puts Python functions among the native frames of the interpreter that ran them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frames/frame.h"
#include "frames/python_line.h"

namespace cuvmm::frames {

/// `native` with a frame for each of `lines`, both innermost first. The functions that one loop of
/// the interpreter ran come before the native frame of that loop. Where the native frames of the
/// loops have no names, all Python functions come before the interpreter's first frame. Python
/// functions for which `native` has no loop come last.
std::vector<Frame> with_python_frames(std::vector<Frame> native, std::span<const PythonLine> lines);

/// Whether the frame belongs to the Python interpreter, or to the library by which ctypes calls C
/// functions.
bool of_interpreter(const Frame& frame);

/// Whether an object only passes calls of Python on to other libraries, judged by its path: ctypes,
/// cffi and extension modules do.
bool hands_on_from_python(std::string_view module);

}  // namespace cuvmm::frames
