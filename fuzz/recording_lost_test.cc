// A recorder whose second process dies under it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "fuzz/record.h"

namespace cuvmm::fuzz {
namespace {

// The first child of a process; 0 for none.
pid_t child_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  pid_t child = 0;
  std::ifstream("/proc/" + number + "/task/" + number + "/children") >> child;
  return child;
}

TEST(RecordingLost, ALostProcessIsADeathAndTheNextProgramHasFreshOnes) {
  const std::string path = testing::TempDir() + "/recording-lost.bin";
  setenv("CUVMM_DEVICES", "3", 1);
  setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
  RecordOptions options;
  options.driver = CUVMM_EMULATOR;
  options.output = path;
  options.calls = 40000;
  options.processes = 2;
  constexpr unsigned kKills = 3;
  std::atomic<bool> stop{false};
  // The recorder's child has one child: the second process. Each is killed once programs of its own
  // have been written.
  std::thread killer([&] {
    const pid_t self = getpid();
    pid_t current = 0;
    std::uintmax_t written = 0;
    for (unsigned kills = 0; kills < kKills && !stop;) {
      usleep(5000);
      const pid_t recorder = child_of(self);
      const pid_t peer = recorder > 0 ? child_of(recorder) : 0;
      std::error_code none;
      const std::uintmax_t size = std::filesystem::file_size(path, none);
      if (peer <= 0 || none) continue;
      if (peer != current) {
        current = peer;
        written = size;
      } else if (size > written + 2000) {
        kills += kill(peer, SIGSEGV) == 0;
        written = ~std::uintmax_t{0} / 2;  // not twice
      }
    }
  });
  const RecordSummary done = record(options);
  stop = true;
  killer.join();
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

}  // namespace
}  // namespace cuvmm::fuzz
