// SPDX-License-Identifier: Apache-2.0
// Finds the owner of a stack frame's code, by the folder and the name of its file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::tools {

enum class Owner : unsigned char {
  kProgram,  ///< any other code: the program's own
  kPackage,  ///< installed for Python (site-packages, dist-packages), or PyTorch's libraries
  kNvidia,   ///< one of NVIDIA's libraries
  kSystem,   ///< the system's libraries, Python's interpreter and its standard library
  kNobody,   ///< generated code, code of a header, the start of a program: says nothing
};

Owner owner_of(const frames::Frame& frame);

/// Whether a stack, innermost frame first, has the first function of its thread.
bool reaches_start(const std::vector<frames::Frame>& frames);
/// Whether the stack may lack its outermost Python functions.
bool python_was_cut(const std::vector<frames::Frame>& frames);
/// Whether the frame at `at` is code that the user gave to Python as text (`python -c`) or typed.
/// Such a frame is named "<string>" or the like, and is the outermost Python function. The second
/// condition is needed, because text that a library makes and runs has such names, too.
bool is_typed_program(const std::vector<frames::Frame>& frames, std::size_t at);
/// Whether the frame is the function of Python's interpreter that runs Python functions.
bool runs_python(const frames::Frame& frame);

/// The name of a frame's code: "torch", "libcudart.so.13", "/home/me/train.py".
std::string name_of_code(const frames::Frame& frame);

}  // namespace cuvmm::tools
