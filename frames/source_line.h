// SPDX-License-Identifier: Apache-2.0
// Reads the source line at which a stack is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::frames {

/// Sets Frame::source of the innermost frame whose source file can be read: the line without its
/// indentation. Frames of the Python interpreter and of a CUDA runtime are passed over. A file that
/// was changed after `since` (seconds since 1970), or after the frame's module was built, may have
/// other lines now, so it is not read. Opens regular files only, one after the other. `folder`: the
/// folder in which the process began, from which Python names the file of its main program; "": a
/// relative name is not read.
void add_source_line(std::vector<Frame>& frames, std::int64_t since,
                     const std::string& folder = "");

}  // namespace cuvmm::frames
