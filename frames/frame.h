// SPDX-License-Identifier: Apache-2.0
// One line of a stack.
#pragma once

#include <cstdint>
#include <string>

namespace cuvmm::frames {

enum class Language : unsigned char { kNative, kPython };

/// A Python frame has no module and no offset.
struct Frame {
  std::string function;      ///< demangled; empty when no symbol covers it
  std::string module;        ///< path of the object that the frame lies in; empty when unknown
  std::uint64_t offset = 0;  ///< bytes from the module's load address
  std::string file;          ///< source file; empty without debug information
  int line = 0;
  Language language = Language::kNative;
  std::string source = {};  ///< the text of that line, if add_source_line() read it

  bool python() const { return language == Language::kPython; }
};

}  // namespace cuvmm::frames
