// SPDX-License-Identifier: Apache-2.0
// Whose code a frame of a stack is, by where its file lies and what it is called.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::tools {

enum class Owner : unsigned char {
  kProgram,  ///< of nobody who is known here: so the program's own
  kPackage,  ///< installed for Python (site-packages, dist-packages), or PyTorch's libraries
  kNvidia,   ///< one of NVIDIA's libraries
  kSystem,   ///< the system's libraries, Python's interpreter and its standard library
  kNobody,   ///< what was generated, a header's code, a program's start: it says nothing
};

Owner owner_of(const frames::Frame& frame);

/// Whether a stack, innermost frame first, reaches out to where its thread began.
bool reaches_start(const std::vector<frames::Frame>& frames);
/// Whether the outermost functions of Python may be missing in it.
bool python_was_cut(const std::vector<frames::Frame>& frames);
/// Whether that frame is of the text that a program was given or types (`python -c`): the outermost
/// function of Python, of such a name. Text that libraries make and run has such names as well.
bool is_typed_program(const std::vector<frames::Frame>& frames, std::size_t at);
/// Whether the frame is one of Python's interpreter that ran functions.
bool runs_python(const frames::Frame& frame);

/// What a frame's code is called: "torch", "libcudart.so.13", "/home/me/train.py".
std::string name_of_code(const frames::Frame& frame);

}  // namespace cuvmm::tools
