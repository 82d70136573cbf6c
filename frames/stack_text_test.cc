// SPDX-License-Identifier: Apache-2.0
#include "frames/stack_text.h"

#include <gmock/gmock.h>

#include "frames/testing_frames.h"

namespace cuvmm::frames {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Frame> python_program(const char* interpreter) {
  std::vector<Frame> frames = {frame("reserve", "/lib/driver.cpython-312-x86_64-linux-gnu.so"),
                               frame("ffi_call", "/usr/lib/libffi.so.8")};
  for (int i = 0; i < 40; ++i) frames.push_back(frame("_PyEval_EvalFrameDefault", interpreter));
  frames.push_back(frame("callback", "/app/extension.so"));
  for (int i = 0; i < 40; ++i) frames.push_back(frame("PyObject_Vectorcall", interpreter));
  frames.push_back(frame("main", interpreter));
  frames.push_back(frame("__libc_start_main", "/lib/libc.so.6"));
  return frames;
}

TEST(StackText, FoldsTheFramesOfThePythonInterpreter) {
  for (const char* interpreter : {"/usr/bin/python3.12", "/usr/bin/python3", "/opt/bin/python",
                                  "/lib/libpython3.12.so.1.0"}) {
    EXPECT_EQ(stack_text(python_program(interpreter), "  "),
              "  #0 reserve (driver.cpython-312-x86_64-linux-gnu.so+0x10)\n"
              "  #1 41 frames of the Python interpreter\n"
              "  #42 callback (extension.so+0x10)\n"
              "  #43 41 frames of the Python interpreter\n")
        << interpreter;
  }
}

TEST(StackText, EndsBeforeTheCLibrarysStart) {
  const std::vector<Frame> frames = {frame("f", "/app"), frame("", "/usr/bin/python3"),
                                     frame("__libc_start_call_main", "/lib/libc.so.6"),
                                     frame("__libc_start_main", "/lib/libc.so.6"),
                                     frame("_start", "/usr/bin/python3")};
  EXPECT_EQ(stack_text(frames, ""), "#0 f (app+0x10)\n#1 ? (python3+0x10)\n");
}

// The C library of Debian 12 has no name for the function that calls main.
TEST(StackText, EndsBeforeANamelessFrameOfTheCLibrarysStart) {
  std::vector<Frame> frames = {frame("f", "/app"), frame("", "/lib/libc.so.6"),
                               frame("__libc_start_main", "/lib/libc.so.6")};
  EXPECT_EQ(stack_text(frames, ""), "#0 f (app+0x10)\n");
  frames[1] = frame("", "/lib/other.so");
  EXPECT_EQ(stack_text(frames, ""), "#0 f (app+0x10)\n#1 ? (other.so+0x10)\n");
}

TEST(StackText, LeavesOutHowPythonCameToAModule) {
  for (const char* runpy : {"<frozen runpy>", "/usr/lib/python3.9/runpy.py"}) {
    const std::vector<Frame> frames = {
        Frame{"<module>", "", 0, "/home/a.py", 12, Language::kPython},
        Frame{"_run_code", "", 0, runpy, 88, Language::kPython},
        Frame{"_run_module_as_main", "", 0, runpy, 198, Language::kPython},
        frame("_PyEval_EvalFrameDefault", "/usr/bin/python3")};
    EXPECT_EQ(stack_text(frames, ""), "#0 <module> at /home/a.py:12 (Python)\n");
  }
}

TEST(StackText, ShowsTheFunctionsOfAPythonProgramInPlaceOfTheInterpreters) {
  const auto python = [](const char* function, int line) {
    return Frame{function, "", 0, "/home/a.py", line, Language::kPython};
  };
  const char* const interpreter = "/usr/bin/python3";
  const std::vector<Frame> frames = {frame("ffi_call", "/lib/libffi.so.8"),
                                     python("main", 7),
                                     frame("_PyEval_EvalFrameDefault", interpreter),
                                     frame("callback", "/app/extension.so"),
                                     python("Cache.fill", 9),
                                     python("<module>", 12),
                                     frame("_PyEval_EvalFrameDefault", interpreter),
                                     frame("main", interpreter),
                                     frame("__libc_start_main", "/lib/libc.so.6")};
  EXPECT_EQ(stack_text(frames, ""),
            "#1 main at /home/a.py:7 (Python)\n"
            "#3 callback (extension.so+0x10)\n"
            "#4 Cache.fill at /home/a.py:9 (Python)\n"
            "#5 <module> at /home/a.py:12 (Python)\n");
  EXPECT_EQ(place_text(frames), "main at /home/a.py:7 (Python)");
  EXPECT_EQ(place_text({frame("f", "/bin/app")}), "f (app+0x10)");
  EXPECT_EQ(place_text({}), "");
}

TEST(StackText, FoldsTheRuntimeAndEndsWhereAThreadBegins) {
  const std::vector<Frame> frames = {frame("", "/x/libcudart.so.13"),
                                     frame("cudaMalloc", "/x/libcudart.so.13"),
                                     frame("grow", "/bin/app"),
                                     frame("clone", "/bin/app"),
                                     frame("start_thread", "/lib/libc.so.6"),
                                     frame("clone3", "/lib/libc.so.6")};
  EXPECT_EQ(stack_text(frames, ""),
            "#0 2 frames of the CUDA runtime\n#2 grow (app+0x10)\n#3 clone (app+0x10)\n");
}

TEST(StackText, ShortensNamesOfCxx) {
  EXPECT_EQ(frame_text(frame("f(std::vector<int, std::allocator<int> >)", "/bin/app")),
            "f(std::vector<int>) (app+0x10)");
}

TEST(StackText, LeavesOtherProgramsAsTheyAre) {
  const std::vector<Frame> frames = {frame("a", "/bin/python-like"), frame("b", "/bin/python-like"),
                                     frame("main", "/usr/bin/python3")};
  EXPECT_THAT(stack_text(frames, ""), Not(HasSubstr("interpreter")));
  EXPECT_THAT(stack_text(frames, ""), HasSubstr("#2 main (python3+0x10)"));
}

TEST(StackText, ALongStackIsCutAndSaysSo) {
  const std::vector<Frame> frames(20, frame("f", "/app"));
  EXPECT_THAT(stack_text(frames, ""), HasSubstr("#15 f (app+0x10)\n4 more frames\n"));
}

}  // namespace
}  // namespace cuvmm::frames
