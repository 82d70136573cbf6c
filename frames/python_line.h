// SPDX-License-Identifier: Apache-2.0
// A place in a Python program at which a thread was.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuvmm::frames {

struct PythonLine {
  std::uint32_t number;  ///< equal for equal places of one process; 0: the place has no names
  bool entry;  ///< outermost function of an interpreter loop: its caller is no Python function
  int line;
  std::string_view function, file;  ///< UTF-8
};

}  // namespace cuvmm::frames
