// Return addresses made readable: by lib/libcuvmm-symbolize.so where it can be loaded, else dladdr.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/stacks.h"

namespace cuvmm::shim {

struct Frame {
  std::string function;      ///< demangled; empty when no symbol covers it
  std::string module;        ///< path of the object it lies in; empty when none
  std::uint64_t offset = 0;  ///< bytes from the module's load address
  std::string file;          ///< source file; empty without debug information
  int line = 0;
};

/// One frame per address. Never fails: what is not known stays empty. Slow (milliseconds the first
/// time); takes the loader's locks, so the caller must hold none of ours.
std::vector<Frame> symbolize(std::span<const std::uintptr_t> addresses);
std::vector<Frame> symbolize(StackId stack);

}  // namespace cuvmm::shim
