// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/stack_text.h"

#include <algorithm>
#include <string_view>

#include "shim/intercept/arguments.h"

namespace cuvmm::shim {

namespace {

constexpr std::size_t kLinesShown = 16;  // all frames are in the JSON report

// "python", "python3", "python3.12".
bool is_python(std::string_view module) {
  constexpr std::string_view kName = "python";
  if (!module.starts_with(kName)) return false;
  const std::string_view version = module.substr(kName.size());
  return version.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The interpreter, and the library by which ctypes calls C functions.
bool of_interpreter(const Frame& frame) {
  constexpr std::string_view kModules[] = {"libpython", "_ctypes.", "libffi.so"};
  const std::string_view module = file_name(frame.module);
  return is_python(module) || std::ranges::any_of(kModules, [&](std::string_view prefix) {
           return module.starts_with(prefix);
         });
}

// What lies below main is the C library's business. Interpreters may be without that symbol.
std::size_t depth_to_show(const std::vector<Frame>& frames) {
  const auto end = std::ranges::find_if(frames, [](const Frame& frame) {
    return frame.function == "main" || frame.function == "_start" ||
           frame.function.starts_with("__libc_start_");
  });
  const bool main = end != frames.end() && end->function == "main";
  return static_cast<std::size_t>(end - frames.begin()) + (main ? 1 : 0);
}

}  // namespace

std::string frame_text(const Frame& frame) {
  std::string text = frame.function.empty() ? "?" : frame.function;
  if (!frame.file.empty()) text += " at " + frame.file + ":" + std::to_string(frame.line);
  if (!frame.module.empty()) {
    text += " (" + std::string(file_name(frame.module)) + "+" + hex_text(frame.offset) + ")";
  }
  return text;
}

std::string stack_text(const std::vector<Frame>& frames, const char* indent) {
  const std::size_t depth = depth_to_show(frames);
  std::string text;
  std::size_t lines = 0, i = 0;
  for (; i < depth && lines < kLinesShown; ++lines) {
    std::size_t end = i;
    while (end < depth && of_interpreter(frames[end])) ++end;
    text += indent + ("#" + std::to_string(i)) + " ";
    if (end - i > 1) {
      text += std::to_string(end - i) + " frames of the Python interpreter\n";
      i = end;
    } else {
      text += frame_text(frames[i++]) + "\n";
    }
  }
  const std::size_t more = depth - i;
  if (more != 0) {
    text += indent + std::to_string(more) + " more frame" + (more == 1 ? "" : "s") + "\n";
  }
  return text;
}

}  // namespace cuvmm::shim
