// SPDX-License-Identifier: Apache-2.0
// Turns return addresses of an ended process into functions and lines, by the memory map that the
// process left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::tools {

/// At least one frame for each address. Frames have functions and lines where libcuvmm-symbolize.so
/// is beside the shim and the files of the modules still exist. The offset of an address outside of
/// all modules is the address itself.
std::vector<frames::Frame> crash_frames(const std::string& maps,
                                        const std::vector<std::uint64_t>& addresses);

/// "#0 step() at train.cc:41 (app+0x1234)", "#1 step at /home/me/train.py:7 (Python)".
std::string frame_line(std::size_t number, const frames::Frame& frame);

/// One line per frame.
std::vector<std::string> crash_stack(const std::string& maps,
                                     const std::vector<std::uint64_t>& addresses);

}  // namespace cuvmm::tools
