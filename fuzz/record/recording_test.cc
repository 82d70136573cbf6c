// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/recording.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/generate/generator.h"
#include "fuzz/ops/text.h"
#include "fuzz/record/record.h"
#include "fuzz/search/testing_machine.h"

namespace cuvmm::fuzz {
namespace {

TEST(Recording, ReadsBackTheSame) {
  Random random(2);
  RecordedProgram program;
  program.ops = generate(random, swarm(random, {}));
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    program.answers.push_back({RecordedAnswer::How::kDone, CUDA_ERROR_INVALID_VALUE,
                               static_cast<std::uint32_t>(i * 1000000)});
  }
  const std::string bytes =
      recording_header(
          {.gpu = "A GPU", .driver_version = 13000, .devices = 2, .seed = 5, .processes = 2}) +
      recorded_bytes(program);
  const Recording read = parse_recording(bytes);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.machine.gpu, "A GPU");
  EXPECT_EQ(read.machine.driver_version, 13000);
  EXPECT_EQ(read.machine.devices, 2);
  EXPECT_EQ(read.machine.processes, 2);
  ASSERT_EQ(read.programs.size(), 1u);
  EXPECT_EQ(read.programs[0].ops, program.ops);
  EXPECT_EQ(read.programs[0].answers.back().value, program.answers.back().value);
  EXPECT_EQ(read.programs[0].answers[0].result, CUDA_ERROR_INVALID_VALUE);
}

TEST(Recording, TheFirstVersionIsStillRead) {
  RecordedProgram program;
  program.ops.resize(2);
  program.answers.resize(2);
  const std::string bytes =
      recording_header({.gpu = "A GPU", .devices = 2, .seed = 5}) + recorded_bytes(program);
  const std::size_t line = bytes.find('\n');
  constexpr std::size_t kFirst = 64 + 4 + 4 + 8;  // the rest of its header
  const std::string old = "cuvmm-fuzz-recording 1\n" + bytes.substr(line + 1, kFirst) +
                          bytes.substr(line + 1 + kFirst + 4);
  const Recording read = parse_recording(old);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.machine.processes, 1);
  EXPECT_EQ(read.machine.seed, 5u);
  EXPECT_EQ(read.programs.size(), 1u);
  EXPECT_NE(parse_recording("cuvmm-fuzz-recording 3\n" + bytes.substr(line + 1)).error, "");
}

TEST(Recording, ACutOrForeignFileDoesNoHarm) {
  EXPECT_NE(parse_recording("something else").error, "");
  EXPECT_NE(parse_recording("").error, "");
  const std::string header = recording_header({});
  RecordedProgram program;
  program.ops.resize(3);
  program.answers.resize(3);
  const std::string bytes = header + recorded_bytes(program);
  for (std::size_t size = header.size(); size < bytes.size(); ++size) {
    EXPECT_TRUE(parse_recording(bytes.substr(0, size)).programs.empty());
  }
  EXPECT_TRUE(parse_recording(header + std::string(100, '\xff')).programs.empty());
}

// Recorded in child processes, because this process may use the emulator already.
TEST(Recording, AnEmulatorAgreesWithItsOwnRecordingAndNotWithAnotherProfiles) {
  const std::string path = testing::TempDir() + "/recording.bin";
  RecordOptions options;
  options.driver = CUVMM_EMULATOR;
  options.output = path;
  options.calls = 3000;
  setenv("CUVMM_DEVICES", "3", 1);
  setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
  const RecordSummary done = record(options);
  ASSERT_EQ(done.error, "");
  EXPECT_GE(done.calls, 3000u);
  EXPECT_EQ(done.restarts, 0u);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  std::remove(path.c_str());
  Recording recording = parse_recording(stream.str());
  EXPECT_EQ(recording.programs.size(), done.programs);
  for (const RecordedProgram& program : recording.programs) {
    for (const Op& op : program.ops) EXPECT_FALSE(is_multicast(op.code));
  }
  const Driver& driver = emulated().machine().driver();
  EXPECT_EQ(compare(recording, driver, "", {}).unexplained, 0u);
  // A comparison notices a changed answer, and a reason permits it.
  for (RecordedProgram& program : recording.programs) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      RecordedAnswer& answer = program.answers[i];
      if (program.ops[i].code != Code::kUnmap || answer.result != CUDA_SUCCESS) continue;
      answer.result = CUDA_ERROR_INVALID_VALUE;
      const Comparison changed = compare(recording, driver, "", {});
      EXPECT_GT(changed.unexplained, 0u);
      EXPECT_EQ(compare(recording, driver, "", {"cuMemUnmap: recorded # a test"}).unexplained, 0u);
      return;
    }
  }
}

// A driver that died in a read past its reservation met its own layout; a driver that died in a
// read of mapped bytes shows a new fault.
TEST(Recording, ADeathIsJudgedByWhatItsCallNames) {
  const std::string given =
      "cuvmm-program 1\ninit()\nr1 = cuMemAddressReserve(4M)\n"
      "r2 = cuMemAddressReserve(4M)\nh1 = cuMemCreate(4M, device=0)\ncuMemMap(r1, 4M, h1)\n"
      "cuMemMap(r2, 4M, h1)\ncuMemSetAccess(r1, 4M, [device0:rw])\n"
      "cuMemSetAccess(r2, 4M, [device0:rw])\nb1 = host(34, fill=0xcd)\n";
  const auto unexplained = [&](const std::string& read) {
    const TextOps text = from_text(given + read);
    EXPECT_EQ(text.error, "");
    RecordedProgram program{text.ops, std::vector<RecordedAnswer>(text.ops.size())};
    program.answers.back().how = RecordedAnswer::How::kDied;
    const Driver& driver = emulated().machine().driver();
    Recording recording;
    recording.machine.devices = emulated().machine().devices();
    recording.programs.push_back(program);
    const Comparison out = compare(recording, driver, "", {});
    EXPECT_EQ(out.error, "");
    return out.unexplained;
  };
  EXPECT_EQ(unexplained("cuMemcpyDtoH(b1, r1+4194288, 34)\n"), 0u);
  EXPECT_EQ(unexplained("cuMemcpyDtoH(b1, r1+64, 34)\n"), 1u);
}

}  // namespace
}  // namespace cuvmm::fuzz
