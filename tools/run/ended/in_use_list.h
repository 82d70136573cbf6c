// SPDX-License-Identifier: Apache-2.0
// The objects that a process held when it ended, as text: for --leak-check=full, where the process
// could not print its list.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "tools/live/live_leaks.h"

namespace cuvmm::tools {

/// A stack, and the function that it called, of the runtime or the driver; "": not known.
struct PlaceOf {
  std::vector<frames::Frame> frames;
  std::string function = {};
};

/// A paragraph for each place that made such objects, in the words in which processes print them:
/// count, size, maker, stack and the repair.
std::string in_use_list(const std::vector<Used>& all,
                        const std::function<PlaceOf(std::uint32_t stack)>& place_of);

}  // namespace cuvmm::tools
