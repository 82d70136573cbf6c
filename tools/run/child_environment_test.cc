// SPDX-License-Identifier: Apache-2.0
#include "tools/run/child_environment.h"

#include <gmock/gmock.h>

namespace cuvmm::tools {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

const Layout kLayout{"/lib/shim.so",
                     "/lib/links",
                     "/lib/emulator/libcuda.so.1",
                     {"/lib/emulator/libcudart.so.13", "/lib/emulator/libcudart.so.12"}};

Environment made(Environment current, const RunSettings& options = {}) {
  return child_environment(std::move(current), options, kLayout, "/reports");
}

TEST(ChildEnvironment, PreloadsTheShimFirst) {
  EXPECT_EQ(made({})["LD_PRELOAD"], "/lib/shim.so");
  EXPECT_EQ(made({{"LD_PRELOAD", "a.so b.so:c.so"}})["LD_PRELOAD"], "/lib/shim.so:a.so:b.so:c.so");
}

TEST(ChildEnvironment, ANestedRunPreloadsTheShimOnce) {
  const Environment once = made({{"LD_LIBRARY_PATH", "/x"}});
  const Environment twice = made(once);
  EXPECT_EQ(twice.at("LD_PRELOAD"), once.at("LD_PRELOAD"));
  EXPECT_EQ(twice.at("LD_LIBRARY_PATH"), once.at("LD_LIBRARY_PATH"));
}

TEST(ChildEnvironment, LoadersOfOtherCLibrariesDoNotFindTheShim) {
  Layout layout = kLayout;
  layout.preload = "/lib/preload";
  layout.other_libc = "/lib/other.so";
  RunSettings emulate;
  emulate.emulate = true;
  const Environment once = child_environment({{"LD_PRELOAD", "a.so"}}, emulate, layout, "/reports");
  EXPECT_EQ(once.at("LD_PRELOAD"),
            "/lib/preload/$LIB/shim.so:/lib/preload/$LIB/libcudart.so.13:"
            "/lib/preload/$LIB/libcudart.so.12:/lib/other.so:a.so");
  // The paths of an outer run of cuvmm that another wheel installed.
  layout.preload = "/tmp/x/preload";
  EXPECT_EQ(child_environment(once, {}, layout, "/reports").at("LD_PRELOAD"),
            "/tmp/x/preload/$LIB/shim.so:/lib/other.so:a.so");
}

TEST(ChildEnvironment, NvtxFindsTheShimAndTheShimWhatWasThereBefore) {
  constexpr const char* kTool = "NVTX_INJECTION64_PATH";
  EXPECT_THAT(made({}), Contains(Pair(kTool, "/lib/shim.so")));
  EXPECT_THAT(made({}), Not(Contains(Key("CUVMM_NVTX_NEXT"))));
  const Environment once = made({{kTool, "/opt/tool.so"}});
  EXPECT_EQ(once.at(kTool), "/lib/shim.so");
  EXPECT_EQ(once.at("CUVMM_NVTX_NEXT"), "/opt/tool.so");
  EXPECT_EQ(made(once).at("CUVMM_NVTX_NEXT"), "/opt/tool.so");
  RunSettings without;
  without.no_nvtx = true;
  EXPECT_EQ(made(once, without).at(kTool), "/opt/tool.so");
  EXPECT_THAT(made({}, without), Not(Contains(Key(kTool))));
  RunSettings some;
  some.nvtx_include = {"layer*", "step ?"};
  EXPECT_EQ(made({}, some).at("CUVMM_NVTX_INCLUDE"), "layer*,step ?");
}

TEST(ChildEnvironment, SanitizerRuntimesStayBeforeTheShim) {
  EXPECT_EQ(made({{"LD_PRELOAD", "a.so:/usr/lib/libasan.so.8"}})["LD_PRELOAD"],
            "/usr/lib/libasan.so.8:/lib/shim.so:a.so");
}

TEST(ChildEnvironment, AddressSanitizerAcceptsThePreloadAndTheUsersOptionsWin) {
  EXPECT_EQ(made({})["ASAN_OPTIONS"], "verify_asan_link_order=0:protect_shadow_gap=0");
  EXPECT_EQ(made({{"ASAN_OPTIONS", "protect_shadow_gap=1"}})["ASAN_OPTIONS"],
            "verify_asan_link_order=0:protect_shadow_gap=0:protect_shadow_gap=1");
}

TEST(ChildEnvironment, LinksComeFirstAndTheCurrentFolderIsNotAdded) {
  EXPECT_EQ(made({})["LD_LIBRARY_PATH"], "/lib/links");
  EXPECT_EQ(made({{"LD_LIBRARY_PATH", "/a:/b"}})["LD_LIBRARY_PATH"], "/lib/links:/a:/b");
}

TEST(ChildEnvironment, TheEmulatorsRuntimeIsFoundOnlyWithTheEmulator) {
  RunSettings options;
  options.emulate = true;
  const Environment once = made({{"LD_LIBRARY_PATH", "/a"}}, options);
  EXPECT_EQ(once.at("LD_LIBRARY_PATH"), "/lib/links:/lib/emulator:/a");
  EXPECT_EQ(made(once, options)["LD_LIBRARY_PATH"], once.at("LD_LIBRARY_PATH"));
}

TEST(ChildEnvironment, TheEmulatorsRuntimeIsPreloadedBehindTheShim) {
  RunSettings options;
  options.emulate = true;
  const Environment once = made({{"LD_PRELOAD", "a.so"}}, options);
  EXPECT_EQ(once.at("LD_PRELOAD"),
            "/lib/shim.so:/lib/emulator/libcudart.so.13:/lib/emulator/libcudart.so.12:a.so");
  EXPECT_EQ(made(once, options)["LD_PRELOAD"], once.at("LD_PRELOAD"));
  EXPECT_EQ(made(once)["LD_PRELOAD"], "/lib/shim.so:a.so") << "a driver within: its own runtime";
}

TEST(ChildEnvironment, PythonIsLedToTheEmulatorsRuntimeOnlyWhenAskedAndOnlyThere) {
  RunSettings options;
  options.emulate = true;
  options.torch = "skip";
  EXPECT_THAT(made({}, options), Not(Contains(Key("PYTHONPATH"))));
  options.python = true;
  EXPECT_EQ(made({}, options)["PYTHONPATH"], "/lib/emulator/python");
  EXPECT_EQ(made({{"PYTHONPATH", "/a"}}, options)["PYTHONPATH"], "/lib/emulator/python:/a");
  options.emulate = false;
  EXPECT_THAT(made({}, options), Not(Contains(Key("PYTHONPATH"))));
}

TEST(ChildEnvironment, PyTorchComputesOnTheEmulatorUnlessItIsToSkip) {
  RunSettings options;
  EXPECT_THAT(made({}, options), Not(Contains(Key("PYTHONPATH")))) << "a real driver runs kernels";
  options.emulate = true;
  const Environment once = made({{"PYTHONPATH", "/a"}}, options);
  EXPECT_EQ(once.at("PYTHONPATH"), "/lib/emulator/torch:/a");
  EXPECT_EQ(made(once, options)["PYTHONPATH"], "/lib/emulator/torch:/a");
  EXPECT_THAT(made({{"CUVMM_TORCH", "skip"}}, options), Not(Contains(Key("PYTHONPATH"))));
  options.torch = "compute";
  options.python = true;
  const Environment both = made({{"CUVMM_TORCH", "skip"}}, options);
  EXPECT_EQ(both.at("PYTHONPATH"), "/lib/emulator/torch:/lib/emulator/python");
  EXPECT_EQ(both.at("CUVMM_TORCH"), "compute");
}

TEST(ChildEnvironment, DefaultsSetOnlyHowToReport) {
  const Environment environment = made({{"HOME", "/h"}});
  EXPECT_EQ(environment.at("HOME"), "/h");
  EXPECT_EQ(environment.at("CUVMM_REPORT_DIR"), "/reports");
  for (const auto& [name, value] : environment) {
    if (name != "CUVMM_REPORT_DIR" && name != "CUVMM_NO_SUMMARY") {
      EXPECT_NE(name.rfind("CUVMM_", 0), 0u) << name;
    }
  }
}

TEST(ChildEnvironment, EveryOptionHasItsVariable) {
  RunSettings options;
  options.emulate = true;
  options.profile = "documented";
  options.devices = 2;
  options.streams = "late:7";
  options.torch = "skip";
  options.enforce = true;
  options.suppressions = "/s";
  options.leak_check = "full";
  options.async = "exact";
  options.unordered = true;
  options.trace = "/t.%p";
  options.no_python_frames = true;
  options.color = "always";
  options.limit = 0;
  options.quiet = true;
  options.verbose = true;
  options.allow_multicast = true;
  const Environment environment = made({}, options);
  EXPECT_THAT(environment, Contains(Pair("CUVMM_DRIVER", kLayout.emulator)));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_PROFILE", "documented")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_DEVICES", "2")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_STREAMS", "late:7")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_TORCH", "skip")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_ENFORCE", "1")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_SUPPRESSIONS", "/s")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_LEAK_CHECK", "full")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_ASYNC", "exact")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_UNORDERED", "1")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_TRACE", "/t.%p")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_NO_PYTHON_FRAMES", "1")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_COLOR", "always")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_LIMIT", "0")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_QUIET", "1")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_VERBOSE", "1")));
  EXPECT_THAT(environment, Contains(Pair("CUVMM_ALLOW_MULTICAST", "1")));
}

TEST(ChildEnvironment, ANamedDriverIsPassedOn) {
  RunSettings options;
  options.driver = "/opt/libcuda.so.1";
  EXPECT_THAT(made({{"CUVMM_DRIVER", "/old"}}, options),
              Contains(Pair("CUVMM_DRIVER", "/opt/libcuda.so.1")));
}

TEST(ChildEnvironment, TheRunnerAloneWritesReportsAndExitCodes) {
  const Environment environment = made({{"CUVMM_REPORT", "x"}, {"CUVMM_ERROR_EXITCODE", "9"}});
  EXPECT_THAT(environment, Contains(Pair("CUVMM_NO_SUMMARY", "1")));
  EXPECT_THAT(environment, Not(Contains(Key("CUVMM_REPORT"))));
  EXPECT_THAT(environment, Not(Contains(Key("CUVMM_ERROR_EXITCODE"))));
}

}  // namespace
}  // namespace cuvmm::tools
