// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tools/base/temporary_folder.h"
#include "tools/report/tree/proc_text.h"

namespace cuvmm::tools {
namespace {

TreeResult shell(const std::string& script, TreeOptions options = {}) {
  options.quiet = true;
  return run_tree("/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin", "GREETING=hello"},
                  options);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(RunTree, GivesTheExitCode) {
  EXPECT_EQ(shell("exit 0").exit_code, 0);
  EXPECT_EQ(shell("exit 42").exit_code, 42);
}

TEST(RunTree, ASignalIs128PlusItsNumber) {
  const TreeResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(RunTree, PassesTheEnvironmentAndNoOther) {
  setenv("CUVMM_TEST_OUTER", "1", 1);
  EXPECT_EQ(shell("test \"$GREETING\" = hello && test -z \"$CUVMM_TEST_OUTER\"").exit_code, 0);
}

TEST(RunTree, WaitsForProcessesThatOutliveTheProgram) {
  TemporaryFolder folder;
  const std::string mark = folder.path() + "/done";
  EXPECT_EQ(shell("(sleep 0.4; touch " + mark + ") & exit 3").exit_code, 3);
  EXPECT_TRUE(exists(mark));
}

TEST(RunTree, AWaitLimitEndsTheWaitAndSaysSo) {
  const auto start = std::chrono::steady_clock::now();
  const TreeResult result = shell("sleep 3 >/dev/null 2>&1 & exit 5", {.wait_s = 0.2});
  EXPECT_TRUE(result.left_running);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(RunTree, AFailedStartHasTheKernelsReason) {
  const TreeResult result = run_tree("/no/such/program", {"x"}, {}, {});
  EXPECT_EQ(result.error_number, ENOENT);
  EXPECT_NE(result.error, "");
}

TEST(RunTree, RunsAScriptWithoutInterpreterLine) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/script";
  std::ofstream(path) << "exit 7\n";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(run_tree(path, {path}, {"PATH=/bin"}, {}).exit_code, 7);
}

TEST(RunTree, ForwardsASignalSentToTheRunner) {
  TemporaryFolder folder;
  const std::string ready = folder.path() + "/ready";
  const pid_t runner = fork();
  if (runner == 0) {
    const TreeResult result =
        shell("trap 'exit 9' TERM; touch " + ready + "; while :; do sleep 0.05; done");
    _exit(result.exit_code);
  }
  for (int i = 0; i < 200 && !exists(ready); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(exists(ready));
  kill(runner, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(runner, &status, 0), runner);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

// How many signals the program gets when one is sent to the runner, or to the runner's group.
std::string signals_seen(bool to_group) {
  TemporaryFolder folder;
  const std::string ready = folder.path() + "/ready", seen = folder.path() + "/seen";
  const pid_t runner = fork();
  if (runner == 0) {
    setpgid(0, 0);
    const TreeResult result = shell("trap 'echo -n x >> " + seen + "' TERM; touch " + ready +
                                    "; for i in $(seq 40); do sleep 0.02 & wait; done");
    _exit(result.exit_code);
  }
  for (int i = 0; i < 500 && !exists(ready); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(to_group ? -runner : runner, SIGTERM);
  waitpid(runner, nullptr, 0);
  std::string text;
  std::ifstream(seen) >> text;
  return text;
}

TEST(RunTree, ASignalToTheGroupIsNotForwarded) {
  EXPECT_EQ(signals_seen(false), "x");
  EXPECT_EQ(signals_seen(true), "x");
}

TEST(ProcText, OfWhatCannotBeReadIsEmpty) {
  EXPECT_NE(proc_text("/proc/self/stat"), "");
  EXPECT_EQ(proc_text("/proc/self/none"), "");
  EXPECT_EQ(proc_text("/proc"), "") << "as of a process that ends meanwhile, read() fails";
}

TEST(RunTree, SignalMaskOfTheCallerIsKept) {
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  shell("exit 0");
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

}  // namespace
}  // namespace cuvmm::tools
