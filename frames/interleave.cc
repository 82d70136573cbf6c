// SPDX-License-Identifier: Apache-2.0
#include "frames/interleave.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace cuvmm::frames {

namespace {

// "python", "python3", "python3.12".
bool is_python(std::string_view module) {
  constexpr std::string_view kName = "python";
  if (!module.starts_with(kName)) return false;
  const std::string_view version = module.substr(kName.size());
  return version.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view module_name(const Frame& frame) {
  const std::string_view path = frame.module;
  return path.substr(path.rfind('/') + 1);
}

bool of_python_itself(const Frame& frame) {
  const std::string_view module = module_name(frame);
  return !frame.python() && (is_python(module) || module.starts_with("libpython"));
}

// Compilers move parts of the function into functions of their own:
// "_PyEval_EvalFrameDefault.cold".
bool runs_python(const Frame& frame) {
  constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
  const std::string_view function = frame.function;
  return !frame.python() && function.starts_with(kLoop) &&
         (function.size() == kLoop.size() || function[kLoop.size()] == '.');
}

class Weaver {
 public:
  Weaver(std::vector<Frame>& out, std::span<const PythonLine> lines) : out_(out), lines_(lines) {}

  // Appends the Python functions that one loop of the interpreter ran.
  void loop() {
    bool entry = false;
    while (!lines_.empty() && !entry) {
      const PythonLine& line = lines_.front();
      lines_ = lines_.subspan(1);
      entry = line.entry;
      // The interpreter runs a small Python function of its own to call __init__; no user wrote it.
      if (line.file == "__init__") continue;
      out_.push_back({std::string(line.function), "", 0, std::string(line.file), line.line,
                      Language::kPython});
    }
  }
  void rest() {
    while (!lines_.empty()) loop();
  }

 private:
  std::vector<Frame>& out_;
  std::span<const PythonLine> lines_;
};

}  // namespace

bool of_interpreter(const Frame& frame) {
  if (frame.python()) return false;
  const std::string_view module = module_name(frame);
  return of_python_itself(frame) || module.starts_with("_ctypes.") ||
         module.starts_with("libffi.so");
}

std::vector<Frame> with_python_frames(std::vector<Frame> native,
                                      std::span<const PythonLine> lines) {
  if (lines.empty()) return native;
  const bool named = std::ranges::any_of(native, &runs_python);
  std::vector<Frame> out;
  out.reserve(native.size() + lines.size());
  Weaver weaver(out, lines);
  for (Frame& frame : native) {
    if (named && runs_python(frame)) weaver.loop();
    if (!named && of_python_itself(frame)) weaver.rest();
    out.push_back(std::move(frame));
  }
  weaver.rest();
  return out;
}

bool hands_on_from_python(std::string_view module) {
  const std::string_view file = module.substr(module.rfind('/') + 1);
  return file.starts_with("libffi.so") || file.starts_with("libffi-") ||
         file.find(".cpython-") != std::string_view::npos || file.ends_with(".abi3.so");
}

}  // namespace cuvmm::frames
