// SPDX-License-Identifier: Apache-2.0
// Return addresses of a process that is gone, made readable by the memory map that it left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// One line per frame, "#0 step() at train.cc:41 (app+0x1234)"; functions and lines where
/// libcuvmm-symbolize.so is beside the shim and the modules' files are still there.
std::vector<std::string> crash_stack(const std::string& maps,
                                     const std::vector<std::uint64_t>& addresses);

}  // namespace cuvmm::tools
