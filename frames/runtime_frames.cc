// SPDX-License-Identifier: Apache-2.0
#include "frames/runtime_frames.h"

#include <algorithm>
#include <string_view>

#include "frames/stack_text.h"

namespace cuvmm::frames {

namespace {

// "cudaFree", "cudaMalloc3DArray_ptsz": a function of the C interface.
bool is_public(std::string_view function) {
  constexpr std::string_view kPrefix = "cuda";
  return function.size() > kPrefix.size() && function.starts_with(kPrefix) &&
         function[kPrefix.size()] >= 'A' && function[kPrefix.size()] <= 'Z' &&
         function.find_first_of("(<:") == function.npos;
}

// A static runtime gives its inner functions such names in the program's own file.
bool of_static_runtime(const Frame& frame) {
  return frame.function.starts_with("libcudart_static_") || frame.function.starts_with("__cudart");
}

// The templates of the runtime's headers, such as cudaMalloc<T>(), only call the function of that
// name.
bool of_its_headers(const Frame& frame) {
  const std::string_view file = file_name(frame.file);
  return file == "cuda_runtime.h" || file == "cuda_runtime_api.h";
}

}  // namespace

bool of_cuda_runtime(const Frame& frame) {
  if (frame.python()) return false;
  return file_name(frame.module).starts_with("libcudart") || of_static_runtime(frame) ||
         of_its_headers(frame);
}

std::string take_runtime_frames(std::vector<Frame>& frames) {
  if (frames.empty() || !of_cuda_runtime(frames.front())) return {};
  const bool of_static = of_static_runtime(frames.front());
  auto outside = std::ranges::find_if_not(frames, of_cuda_runtime);
  // The public functions of a static runtime lie in the program's file, as their callers do.
  if (of_static && outside != frames.end() && is_public(outside->function)) {
    outside = std::find_if_not(outside + 1, frames.end(), of_cuda_runtime);
  }
  if (outside == frames.end()) return {};
  const auto entered = std::find_if(std::make_reverse_iterator(outside), frames.rend(),
                                    [](const Frame& frame) { return is_public(frame.function); });
  // Between this function and the program lie only templates of the runtime's headers.
  if (entered == frames.rend() ||
      !std::all_of(std::make_reverse_iterator(outside), entered, of_its_headers)) {
    return {};
  }
  std::string function = entered->function;
  frames.erase(frames.begin(), outside);
  return function;
}

}  // namespace cuvmm::frames
