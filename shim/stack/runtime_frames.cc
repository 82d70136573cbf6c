// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/runtime_frames.h"

#include <algorithm>
#include <string_view>

namespace cuvmm::shim {

std::string take_runtime_frames(std::vector<Frame>& frames) {
  const auto outside = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) {
    const std::string_view path = frame.module;
    return !path.substr(path.rfind('/') + 1).starts_with("libcudart");
  });
  if (outside == frames.begin() || outside == frames.end()) return {};
  std::string function = (outside - 1)->function;
  if (!function.starts_with("cuda")) return {};
  frames.erase(frames.begin(), outside);
  return function;
}

}  // namespace cuvmm::shim
