// SPDX-License-Identifier: Apache-2.0
#include "frames/stack_text.h"

#include <gmock/gmock.h>

#include <ctime>
#include <fstream>
#include <string>

#include "frames/source_line.h"
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

Frame python_frame(const char* function, const char* file, int line) {
  return {function, "", 0, file, line, Language::kPython};
}

TEST(StackText, LeavesOutImportsAndFoldsPytest) {
  const char* const interpreter = "/usr/bin/python3";
  const std::vector<Frame> frames = {
      python_frame("leak", "/home/leak.py", 3),
      python_frame("_find_and_load", "<frozen importlib._bootstrap>", 1176),
      frame("_PyEval_EvalFrameDefault", interpreter),
      python_frame("import_module", "/usr/lib/python3.11/importlib/__init__.py", 126),
      python_frame("test_it", "/home/test_it.py", 9),
      python_frame("pytest_pyfunc_call", "/x/_pytest/python.py", 187),
      frame("_PyEval_EvalFrameDefault", interpreter),
      python_frame("_multicall", "/x/pluggy/_callers.py", 121)};
  EXPECT_EQ(stack_text(frames, ""),
            "#0 leak at /home/leak.py:3 (Python)\n"
            "#4 test_it at /home/test_it.py:9 (Python)\n"
            "#5 2 frames of pytest\n");
}

TEST(SourceLine, StandsBelowItsFrame) {
  const std::string file = testing::TempDir() + "source_line_test.py";
  std::ofstream(file) << "import x\n\n\tcall(x,\t\x1b[31m1)  \nlast";
  const std::int64_t now = ::time(nullptr);
  const auto frames = [&](int line) {
    return std::vector<Frame>{frame("ffi_call", "/lib/libffi.so.8"),
                              python_frame("gone", "/no/such/file.py", 1),
                              python_frame("f", file.c_str(), line)};
  };
  const auto source = [&](int line, std::int64_t since) {
    std::vector<Frame> found = frames(line);
    add_source_line(found, since);
    EXPECT_EQ(found[0].source + found[1].source, "");
    return found[2].source;
  };
  EXPECT_EQ(source(3, now + 1), "call(x,  [31m1)");
  EXPECT_EQ(source(4, now + 1), "last");
  EXPECT_EQ(source(5, now + 1), "");
  EXPECT_EQ(source(3, now - 3600), "");  // changed since
  std::vector<Frame> relative = {python_frame("f", "source_line_test.py", 4)};
  add_source_line(relative, now + 1);
  EXPECT_EQ(relative[0].source, "");  // from which folder is not known
  add_source_line(relative, now + 1, testing::TempDir());
  EXPECT_EQ(relative[0].source, "last");
  std::vector<Frame> shown = frames(1);
  add_source_line(shown, now + 1);
  EXPECT_THAT(stack_text(shown, "  "), HasSubstr(":1 (Python)\n       import x\n"));
}

TEST(SourceLine, OnlyOfRegularFilesThatTheModuleIsNewerThan) {
  const std::string file = testing::TempDir() + "source_line_test.cc";
  std::ofstream(file) << "int main() {}\n";
  const std::int64_t later = ::time(nullptr) + 1;
  const auto source = [&](const std::string& path, const std::string& module) {
    std::vector<Frame> found = {{"main", module, 1, path, 1}};
    add_source_line(found, later);
    return found[0].source;
  };
  EXPECT_EQ(source(file, file), "int main() {}");
  EXPECT_EQ(source(file, "/etc/passwd.older.than.nothing"), "");  // no module is there
  EXPECT_EQ(source("/dev/zero", file), "");
  EXPECT_EQ(source("/tmp", file), "");
  EXPECT_EQ(source("main.cc", file), "");  // from which folder is not known
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
