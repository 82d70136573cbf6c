// SPDX-License-Identifier: Apache-2.0
#include "frames/interleave.h"

#include <gtest/gtest.h>

#include <string>

namespace cuvmm::frames {
namespace {

constexpr const char* kPython = "/usr/bin/python3.12";
constexpr const char* kLoop = "_PyEval_EvalFrameDefault";

// The lines have no names, because with_python_frames() looks only at where a loop ends.
constexpr PythonLine kInner{0, false, 0, "", ""}, kEntry{0, true, 0, "", ""};

Frame frame(const char* function, const char* module) { return {function, module, 16, "", 0}; }

// "p" for a Python function, the function's name for a native frame.
std::string order(std::vector<Frame> native, const std::vector<PythonLine>& lines) {
  std::string text;
  for (const Frame& each : with_python_frames(std::move(native), lines)) {
    text += each.python() ? "p " : each.function + " ";
  }
  return text;
}

TEST(Interleave, EachLoopHasItsFunctionsBeforeIt) {
  const std::vector<Frame> native = {
      frame("ffi", "libffi.so.8"), frame(kLoop, kPython), frame("qsort", "libc.so.6"),
      frame("_PyEval_EvalFrameDefault.cold", kPython), frame("main", kPython)};
  EXPECT_EQ(order(native, {kInner, kEntry, kEntry}),
            "ffi p p _PyEval_EvalFrameDefault qsort p _PyEval_EvalFrameDefault.cold main ");
  EXPECT_EQ(order(native, {kInner, kEntry, kInner}),
            "ffi p p _PyEval_EvalFrameDefault qsort p _PyEval_EvalFrameDefault.cold main ");
  EXPECT_EQ(order(native, {}),
            "ffi _PyEval_EvalFrameDefault qsort _PyEval_EvalFrameDefault.cold main ");
}

TEST(Interleave, WhatTheNativeFramesDoNotReachComesLast) {
  EXPECT_EQ(order({frame("ffi", "libffi.so.8"), frame(kLoop, kPython), frame("f", kPython)},
                  {kEntry, kInner, kEntry, kEntry}),
            "ffi p _PyEval_EvalFrameDefault f p p p ");
}

TEST(Interleave, WithoutNamesAllComesBeforeTheInterpreter) {
  EXPECT_EQ(
      order({frame("", "libffi.so.8"), frame("", kPython), frame("a", "app")}, {kEntry, kEntry}),
      " p p  a ");
  EXPECT_EQ(order({frame("a", "app")}, {kEntry}), "a p ");
}

TEST(Interleave, AFunctionHasItsNameFileAndLine) {
  const auto frames = with_python_frames({}, std::vector<PythonLine>{{3, true, 7, "f", "/a.py"}});
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "f");
  EXPECT_EQ(frames[0].file, "/a.py");
  EXPECT_EQ(frames[0].line, 7);
}

TEST(Interleave, WhatTheInterpreterWroteItselfIsLeftOut) {
  EXPECT_EQ(order({frame("a", "app")}, {{4, true, 1, "__init__", "__init__"}, kEntry}), "a p ");
}

TEST(Interleave, AFunctionOfAnotherNameIsNoLoop) {
  EXPECT_EQ(order({frame("_PyEval_EvalFrameDefaultly", "app"), frame(kLoop, kPython)}, {kEntry}),
            "_PyEval_EvalFrameDefaultly p _PyEval_EvalFrameDefault ");
}

TEST(Interleave, BindingsHandOnWhatPythonCalls) {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libffi.so.8.1.2", "/x/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "/x/cuda/bindings/driver.cpython-312-x86_64-linux-gnu.so", "/x/torch.libs/libffi-a1b2.so.8",
        "/x/driver.abi3.so"}) {
    EXPECT_TRUE(hands_on_from_python(path)) << path;
  }
  for (const char* path : {"", "/x/libc10_cuda.so", "/usr/bin/python3.12", "/x/libffi"}) {
    EXPECT_FALSE(hands_on_from_python(path)) << path;
  }
}

}  // namespace
}  // namespace cuvmm::frames
