// SPDX-License-Identifier: Apache-2.0
// A call stack as text for people.
#pragma once

#include <string>
#include <vector>

#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// "fill() at cache.cc:41 (app+0x1234)".
std::string frame_text(const Frame& frame);

/// "#0 fill() at cache.cc:41 (app+0x1234)", one line per frame, indented, down to main. Frames of
/// the Python interpreter that follow each other are one line: they say nothing of the program.
std::string stack_text(const std::vector<Frame>& frames, const char* indent);

}  // namespace cuvmm::shim
