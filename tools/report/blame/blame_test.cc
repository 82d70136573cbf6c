// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/blame.h"

#include <gmock/gmock.h>

#include "tools/report/blame/testing_stacks.h"
#include "tools/report/testing_report.h"

namespace cuvmm::tools {
namespace {

using Frames = std::vector<frames::Frame>;

constexpr int kUnknown = -1;

// The index of the frame that is to blame; kUnknown if blame() cannot tell.
int blamed(const Frames& frames, const OwnCode& own = {}) {
  const auto found = blame(frames, own);
  return found ? static_cast<int>(found->frame) : kUnknown;
}
bool is_librarys(const Frames& frames) {
  const auto found = blame(frames, OwnCode());
  return found && found->library;
}

TEST(Blame, TheNearestCodeOutsideOfLibraries) {
  const frames::Frame inner = python("/home/me/model.py"), outer = python("/home/me/train.py");
  EXPECT_EQ(blamed({kTorchCuda, kTorchPython, inner, kLoop, outer, kLibc, kStart}), 2);
  EXPECT_EQ(blamed({native("/home/me/ext.so"), inner, kLoop, kLibc, kStart}), 0);
  EXPECT_FALSE(is_librarys({kTorchCuda, inner, kLoop, kLibc, kStart}));
  EXPECT_EQ(blamed({kTorchCuda, native("/home/me/app", "main"), kLibc}), 1);
}

TEST(Blame, WithoutSuchCodeTheOutermostLibrary) {
  // A thread that PyTorch started. The frames of libstdc++ and libc, outside of PyTorch's, say
  // nothing.
  const frames::Frame nvrtc = native("/x/libnvrtc.so.13"), thread = native("/lib/libstdc++.so.6");
  const Frames frames = {nvrtc, kTorchCuda, kTorchCuda, thread, native("/lib/libc.so.6", "clone3")};
  EXPECT_EQ(blamed(frames), 2);
  EXPECT_TRUE(is_librarys(frames));
  EXPECT_EQ(blamed({nvrtc, thread, native("/lib/libc.so.6", "clone3")}), 0);
  // A call in exit(): of the program itself, only its start is on the stack.
  EXPECT_EQ(
      blamed({kTorchCuda, native("/lib/libc.so.6", "exit"), native("/home/me/app", "_start")}), 0);
}

TEST(Blame, WhatIsMissingMayBeAnybodys) {
  EXPECT_EQ(blamed({}), kUnknown);
  EXPECT_EQ(blamed({kTorchCuda, kTorchCuda}), kUnknown) << "the stack was cut";
  EXPECT_EQ(blamed({native("", "")}), kUnknown);
  EXPECT_EQ(blamed({kTorchCuda, kLoop, kLibc, kStart}), kUnknown) << "functions were not read";
  EXPECT_EQ(blamed({kTorchCuda, kLoop, native("/home/me/host"), kLibc}), kUnknown)
      << "the host of an interpreter is not the nearest one";
  Frames deep(31, kTorchPython);
  deep.insert(deep.end(), {kLoop, native("/home/me/host"), kLibc});
  EXPECT_EQ(blamed(deep), kUnknown) << "Python's outermost functions are not kept";
  deep.insert(deep.begin(), python("/home/me/a.py"));
  EXPECT_EQ(blamed(deep), 0);
}

TEST(Blame, WhatTheUserNamesIsNoLibrarys) {
  const OwnCode own({"/v/lib/python3.12/site-packages/mine"});
  const frames::Frame mine = python("/v/lib/python3.12/site-packages/mine/a.py"),
                      app = python("/home/me/a.py");
  EXPECT_EQ(blamed({kTorchCuda, mine, app, kLoop, kLibc, kStart}, own), 1);
  EXPECT_EQ(blamed({kTorchCuda, mine, app, kLoop, kLibc, kStart}), 2);
}

TEST(Blame, OfTextThatIsRunTheOutermostAloneIsTheProgram) {
  const frames::Frame text = python("<string>", "<module>"), helper = python("<string>");
  EXPECT_EQ(blamed({kTorchCuda, helper, text, kLoop, kLibc, kStart}), 2) << "python -c";
  // A program calls a library, which runs exec('...').
  const frames::Frame app = python("/home/me/train.py", "<module>");
  EXPECT_EQ(blamed({kTorchCuda, text, kTorchPython, app, kLoop, kLibc, kStart}), 3);
  // The same in a thread that the library started, or if the program is a library (python -m).
  const frames::Frame thread = python("/usr/lib/python3.12/threading.py", "Thread._bootstrap");
  const Frames inside = {kTorchCuda, text, kTorchPython, thread, kLoop, kLibc, kStart};
  EXPECT_EQ(blamed(inside), 2);
  EXPECT_TRUE(is_librarys(inside));
  const frames::Frame runpy = python("<frozen runpy>", "_run_module_as_main");
  EXPECT_TRUE(is_librarys({kTorchCuda, text, kTorchPython, runpy, kLoop, kLibc, kStart}));
  // The text with which multiprocessing starts its workers.
  const frames::Frame spawn = python("/usr/lib/python3.12/multiprocessing/spawn.py", "spawn_main");
  EXPECT_TRUE(is_librarys({kTorchCuda, kTorchPython, spawn, text, kLoop, kLibc, kStart}));
  EXPECT_EQ(blamed({kTorchCuda, app, spawn, text, kLoop, kLibc, kStart}), 1);
}

Json json(const Frames& frames) {
  Json stack = Json::array();
  for (const frames::Frame& frame : frames) {
    Json one = {{"function", frame.function}, {"module", frame.module}, {"offset", 16u}};
    if (!frame.file.empty()) one.update({{"file", frame.file}, {"line", 1u}});
    if (frame.python()) one["language"] = "python";
    stack.push_back(std::move(one));
  }
  return stack;
}

Json found(const char* rule, const char* kind, const Frames& frames, std::uint64_t count = 1) {
  Json value = finding(rule, kind, count);
  value["stack"] = json(frames);
  return value;
}

const Frames kMine = {kTorchCuda, python("/home/me/a.py"), kLoop, kLibc, kStart};
const Frames kTheirs = {kTorchCuda, native("/lib/libc.so.6", "clone3")};

TEST(BlameFindings, CountsThoseOfTheNamedCodeAndThoseOfNobody) {
  Json all = report(Json::array({found("a", "error", kMine, 2), found("b", "leak", kTheirs, 3),
                                 found("c", "undefined", {}), found("d", "advice", kTheirs)}));
  const OwnCode own({"/home/me"});
  const BlameTally tally = blame_findings(all, own);
  EXPECT_EQ(tally.counted, 3u);
  EXPECT_EQ(tally.left_out, 3u);
  EXPECT_THAT(
      blame_text(tally, own),
      testing::HasSubstr("3 are not counted, because --blame counts /home/me alone: 3 of torch"));
  EXPECT_EQ(all["findings"][0]["blamed"]["frame"]["file"], "/home/me/a.py");
  EXPECT_EQ(all["findings"][0]["blamed"]["library"], false);
  EXPECT_FALSE(all["findings"][0]["blamed"].contains("counts"));
  EXPECT_EQ(all["findings"][1]["blamed"]["code"], "torch");
  EXPECT_EQ(all["findings"][1]["blamed"]["counts"], false);
  EXPECT_FALSE(all["findings"][2].contains("blamed"));
  EXPECT_EQ(all["blame"]["left_out"], 3u);
}

TEST(BlameFindings, WithoutAWordAllCount) {
  Json all = report(Json::array({found("a", "error", kTheirs)}));
  const BlameTally tally = blame_findings(all, OwnCode());
  EXPECT_EQ(tally.counted, 1u);
  EXPECT_EQ(blame_text(tally, OwnCode()), "");
  EXPECT_EQ(all["findings"][0]["blamed"]["library"], true);
  EXPECT_FALSE(all.contains("blame"));
}

TEST(BlameFindings, AReferenceThatStaysIsOfWhoRetained) {
  Json one = found("cuMemRetainAllocationHandle-released", "leak", kTheirs);
  one["objects"] =
      Json::array({{{"what", "allocation"}, {"made_by_call", 1u}, {"stack", json(kTheirs)}},
                   {{"what", "allocation"},
                    {"made_by_call", 0u},
                    {"retained_by_call", 4u},
                    {"stack", json(kMine)}}});
  Json all = report(Json::array({one}));
  EXPECT_EQ(blame_findings(all, OwnCode({"/home/me"})).counted, 1u);
}

}  // namespace
}  // namespace cuvmm::tools
