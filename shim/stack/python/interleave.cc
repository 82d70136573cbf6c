// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/interleave.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shim/stack/python/names.h"

namespace cuvmm::shim {

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

// The compiler may have put parts of it elsewhere: "_PyEval_EvalFrameDefault.cold".
bool runs_python(const Frame& frame) {
  constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
  const std::string_view function = frame.function;
  return !frame.python() && function.starts_with(kLoop) &&
         (function.size() == kLoop.size() || function[kLoop.size()] == '.');
}

class Weaver {
 public:
  Weaver(std::vector<Frame>& out, std::span<const std::uintptr_t> words)
      : out_(out), words_(words) {}

  // The functions of one loop of the interpreter.
  void loop() {
    bool entry = false;
    while (!words_.empty() && !entry) {
      const std::uintptr_t word = words_.front();
      words_ = words_.subspan(1);
      entry = (word & kPythonEntry) != 0;
      const PythonName& name = python_name(word);
      // What the interpreter itself wrote in Python's code, to call __init__.
      constexpr std::string_view kOwn = "__init__";
      if (kOwn == name.file) continue;
      out_.push_back({name.function, "", 0, name.file, name.line, Language::kPython});
    }
  }
  void rest() {
    while (!words_.empty()) loop();
  }

 private:
  std::vector<Frame>& out_;
  std::span<const std::uintptr_t> words_;
};

}  // namespace

bool of_interpreter(const Frame& frame) {
  if (frame.python()) return false;
  const std::string_view module = module_name(frame);
  return of_python_itself(frame) || module.starts_with("_ctypes.") ||
         module.starts_with("libffi.so");
}

std::vector<Frame> with_python_frames(std::vector<Frame> native,
                                      std::span<const std::uintptr_t> words) {
  if (words.empty()) return native;
  const bool named = std::ranges::any_of(native, &runs_python);
  std::vector<Frame> out;
  out.reserve(native.size() + words.size());
  Weaver weaver(out, words);
  for (Frame& frame : native) {
    if (named && runs_python(frame)) weaver.loop();
    if (!named && of_python_itself(frame)) weaver.rest();
    out.push_back(std::move(frame));
  }
  weaver.rest();
  return out;
}

}  // namespace cuvmm::shim
