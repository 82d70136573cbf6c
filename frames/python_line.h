// SPDX-License-Identifier: Apache-2.0
// A place in a Python program that a thread was at.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuvmm::frames {

struct PythonLine {
  std::uint32_t number;  ///< equal for equal places of one process; 0: it has no names
  bool entry;  ///< the outermost one of an interpreter loop: what called it is no Python function
  int line;
  std::string_view function, file;  ///< UTF-8
};

}  // namespace cuvmm::frames
