// SPDX-License-Identifier: Apache-2.0
// Tests a second process that dies while a program, or the recorder, uses it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/record/record.h"

namespace cuvmm::fuzz {
namespace {

// A child of the process other than `except`; 0 for none.
pid_t child_of(pid_t pid, pid_t except) {
  const std::string number = std::to_string(pid);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child = 0; children >> child;) {
    if (child != except) return child;
  }
  return 0;
}

// Kills the child of the recorder's child, which is the second process, once the file has programs
// of it; does so `times` times. It runs as a process, because a fork of the recorder would copy
// half of a thread.
[[noreturn]] void kill_peers(pid_t parent, const std::string& path, unsigned times) {
  pid_t current = 0;
  std::uintmax_t enough = 0;
  while (times > 0 && getppid() == parent) {
    usleep(3000);
    const pid_t recorder = child_of(parent, getpid());
    const pid_t peer = recorder > 0 ? child_of(recorder, 0) : 0;
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(path, none);
    if (peer <= 0 || none) continue;
    if (peer != current) {
      current = peer;
      enough = size + 2000;
    } else if (size > enough) {
      times -= kill(peer, SIGSEGV) == 0;
      enough = ~std::uintmax_t{0};
    }
  }
  std::_Exit(0);
}

TEST(RecordingLost, ALostProcessIsADeathAndTheNextProgramHasFreshOnes) {
  const std::string path = testing::TempDir() + "/recording-lost.bin";
  setenv("CUVMM_DEVICES", "3", 1);
  setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
  RecordOptions options;
  options.driver = CUVMM_EMULATOR;
  options.output = path;
  options.calls = 30000;
  options.processes = 2;
  const pid_t self = getpid();
  const pid_t killer = fork();
  if (killer == 0) kill_peers(self, path, 3);
  const RecordSummary done = record(options);
  kill(killer, SIGKILL);
  waitpid(killer, nullptr, 0);
  ASSERT_EQ(done.error, "");
  EXPECT_GE(done.calls, options.calls);
  EXPECT_GE(done.restarts, 1u);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  std::remove(path.c_str());
  const Recording recording = parse_recording(stream.str());
  EXPECT_EQ(recording.machine.processes, 2);
  EXPECT_EQ(recording.programs.size(), done.programs);
  unsigned deaths = 0;
  bool two = false;
  for (const RecordedProgram& program : recording.programs) {
    two = two || processes_of(program.ops) == 2;
    deaths +=
        std::any_of(program.answers.begin(), program.answers.end(),
                    [](const RecordedAnswer& a) { return a.how == RecordedAnswer::How::kDied; });
  }
  EXPECT_TRUE(two);
  EXPECT_EQ(deaths, done.restarts);
}

// The problem of a program whose second process dies before its fourth call.
std::string problem_of_a_death() {
  auto peer = std::make_unique<Peer>(CUVMM_EMULATOR);
  const pid_t second = peer->pid();
  const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
  Differential machine(loaded.driver, load_profile(builtin_profiles().front()).profile, {},
                       std::move(peer));
  const Ops ops = from_text(
                      "h1 = cuMemCreate(2M, device=0)\n@p1 h2 = cuMemCreate(2M, device=0)\n"
                      "cuMemRelease(h1)\n@p1 cuMemRelease(h2)\nr1 = cuMemAddressReserve(2M)\n")
                      .ops;
  machine.on_step = [&](std::size_t op) {
    if (op == 3) kill(second, SIGSEGV);
  };
  const Result result = machine.run(ops);
  if (result.steps.size() != 5 || result.steps[4].answer.run) return "the program went on";
  if (result.at != 3 || machine.lost().empty()) return "noticed elsewhere";
  return result.problem;
}

TEST(RecordingLost, AProgramEndsWithItsSecondProcess) {
  const pid_t child = fork();  // so that the driver of this process stays unused
  if (child == 0) {
    const std::string problem = problem_of_a_death();
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::_Exit(problem == "process 1 ends: signal:SIGSEGV" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace cuvmm::fuzz
