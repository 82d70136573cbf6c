// SPDX-License-Identifier: Apache-2.0
#include "frames/runtime_frames.h"

#include <algorithm>
#include <string_view>

#include "frames/stack_text.h"

namespace cuvmm::frames {

namespace {

// "cudaFree", "cudaMalloc3DArray_ptsz", "__cudaLaunchKernel": a function of the C interface, or one
// that nvcc's code calls.
bool is_public(std::string_view function) {
  constexpr std::string_view kPrefix = "cuda";
  if (function.starts_with("__")) function.remove_prefix(2);
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

// Before a kernel `k<<<1, 1>>>()` reaches the runtime, functions that nvcc made for it run: a
// function with the kernel's name calls the kernel's stub, which may call a helper.
bool is_kernel_stub(const Frame& frame) { return frame.function.starts_with("__device_stub__"); }
bool is_launch_helper(const Frame& frame) {
  return frame.function.find("cudaLaunchKernel_helper") != std::string::npos;
}

// "fill<int><<<>>>" for "void fill<int>(int*)".
std::string launch_of(std::string_view kernel) {
  constexpr std::string_view kVoid = "void ";  // a template's name has its type before it
  if (kernel.starts_with(kVoid)) kernel.remove_prefix(kVoid.size());
  return std::string(kernel.substr(0, kernel.find('('))) + "<<<>>>";
}

}  // namespace

bool of_cuda_runtime(const Frame& frame) {
  if (frame.python()) return false;
  return file_name(frame.module).starts_with("libcudart") || of_static_runtime(frame) ||
         of_its_headers(frame) || is_kernel_stub(frame) || is_launch_helper(frame);
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
  // Between this function and the program lie only templates of the runtime's headers, and nvcc's
  // functions for a kernel.
  const auto between = [](const Frame& frame) {
    return of_its_headers(frame) || is_kernel_stub(frame) || is_launch_helper(frame);
  };
  if (entered == frames.rend() ||
      !std::all_of(std::make_reverse_iterator(outside), entered, between)) {
    return {};
  }
  std::string function = entered->function;
  if (is_kernel_stub(*(outside - 1))) {
    if (outside + 1 == frames.end()) return {};
    function = launch_of(outside->function);
    ++outside;
  }
  frames.erase(frames.begin(), outside);
  return function;
}

}  // namespace cuvmm::frames
