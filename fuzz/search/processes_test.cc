// SPDX-License-Identifier: Apache-2.0
// Tests programs of two processes: the emulator in this process and in another, against one
// reference.
#include <gtest/gtest.h>

#include <cstdlib>

#include "fuzz/generate/generator.h"
#include "fuzz/search/differential.h"
#include "fuzz/search/stacked.h"
#include "fuzz/search/testing.h"

namespace cuvmm::fuzz {
namespace {

void choose_machine() {
  setenv("CUVMM_DEVICES", "3", 1);
  setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
  setenv("CUVMM_MULTICAST_TIMEOUT_MS", "0", 1);
}

// All tests share one, because the other process must be forked before this one uses the emulator.
Differential& two_processes() {
  static Differential* const only = [] {
    choose_machine();
    auto peer = std::make_unique<Peer>(CUVMM_EMULATOR);
    const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
    EXPECT_EQ(loaded.error, "");
    auto* out = new Differential(loaded.driver, load_profile(builtin_profiles().front()).profile,
                                 {.multicast = loaded.emulated}, std::move(peer));
    EXPECT_EQ(out->error(), "");
    return out;
  }();
  return *only;
}

Ops ops_of(const std::string& text) {
  const TextOps read = from_text("cuvmm-program 1\ninit()\n@p1 init()\n" + text);
  EXPECT_EQ(read.error, "");
  return read.ops;
}

constexpr Scope kTwo{.devices = 3, .processes = 2, .multicast = true};

constexpr const char* kShared =
    "h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
    "r1 = cuMemAddressReserve(2M)\n"
    "cuMemMap(r1, 2M, h1)\n"
    "cuMemSetAccess(r1, 2M, [device0:rw])\n"
    "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n"
    "@p1 h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n"
    "@p1 r2 = cuMemAddressReserve(2M)\n"
    "@p1 cuMemMap(r2, 2M, h2)\n"
    "@p1 cuMemSetAccess(r2, 2M, [device0:rw])\n";

// Expects that the reference predicts every byte of a program's last read.
void expect_known_read(const std::string& text) {
  const Ops ops = ops_of(text);
  const Result result = two_processes().run(ops);
  EXPECT_EQ(result.problem, "") << text;
  ASSERT_EQ(ops.back().code, Code::kRead);
  const Step& last = result.steps.back();
  EXPECT_EQ(last.answer.result, CUDA_SUCCESS);
  EXPECT_FALSE(last.judgement.unpredictable) << text;
}

TEST(Processes, WhatOneWritesTheOtherReads) {
  const std::string shared = kShared;
  expect_known_read(shared +
                    "cuMemsetD8(r1, 7, 16)\n@p1 b1 = host(16)\n"
                    "@p1 cuMemcpyDtoH(b1, r2, 16)\n");
  expect_known_read(shared +
                    "@p1 cuMemcpyHtoD(r2+64, host(9, fill=3), 9)\nb1 = host(9)\n"
                    "cuMemcpyDtoH(b1, r1+64, 9)\n");
}

TEST(Processes, AnImportOutlivesTheExportersMemoryAndDescriptor) {
  expect_known_read(std::string(kShared) +
                    "cuMemsetD8(r1, 7, 16)\ncuMemUnmap(r1, 2M)\ncuMemRelease(h1)\nclose(d1)\n"
                    "cuMemAddressFree(r1, 2M)\n@p1 b1 = host(16)\n@p1 cuMemcpyDtoH(b1, r2, 16)\n");
}

TEST(Processes, AClosedDescriptorIsClosedForBoth) {
  const Ops ops = ops_of(
      "h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
      "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n@p1 close(d1)\n"
      "h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n");
  const Result result = two_processes().run(ops);
  EXPECT_EQ(result.problem, "");
  EXPECT_NE(result.steps.back().answer.result, CUDA_SUCCESS);
}

TEST(Processes, AnotherProcessesHandleIsNone) {
  const Ops ops = ops_of("h1 = cuMemCreate(2M, device=0)\n@p1 cuMemRelease(h1)\n");
  const Result result = two_processes().run(ops);
  EXPECT_EQ(result.problem, "");
  EXPECT_NE(result.steps.back().answer.result, CUDA_SUCCESS);
  EXPECT_TRUE(result.steps.back().judgement.breaks(Rule::kReleaseHandleValid));
}

TEST(Processes, WithoutASecondOneItsCallsAreNotMade) {
  const Ops ops = ops_of(std::string(kShared) + "@p1 cuMemUnmap(r2, 2M)\n");
  const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
  (void)two_processes();  // its driver makes a reservation first
  Differential alone(loaded.driver, load_profile(builtin_profiles().front()).profile, {});
  const Result result = alone.run(ops);
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.steps[4].answer.run);
  EXPECT_FALSE(result.steps[5].answer.run);
  EXPECT_FALSE(result.steps.back().answer.run);
}

TEST(Processes, TheCorpusAnswersAsItSays) {
  const auto programs = corpus("processes");
  EXPECT_GE(programs.size(), 5u);
  for (const auto& path : programs) {
    const std::string text = read_calls(path);
    const TextOps program = from_text(text);
    ASSERT_EQ(program.error, "") << path;
    EXPECT_EQ(processes_of(program.ops), 2) << path;
    const Result result = two_processes().run(program.ops);
    EXPECT_EQ(result.problem, "") << path;
    EXPECT_EQ(to_text(program.ops, notes_of(result)), text) << path;
    EXPECT_EQ(run_stacked(two_processes(), program.ops).problem, "") << path;
  }
}

constexpr const char* kOpened =
    "r1 = cuMemAlloc(4M)\n"
    "s1 = cuIpcGetMemHandle(r1)\n"
    "@p1 r2 = cuIpcOpenMemHandle(s1, 1)\n";

TEST(Processes, OpenedMemoryHoldsWhatEitherWrites) {
  const std::string opened = kOpened;
  expect_known_read(opened +
                    "cuMemsetD8(r1+2M, 7, 16)\n@p1 b1 = host(16)\n"
                    "@p1 cuMemcpyDtoH(b1, r2+2M, 16)\n");
  expect_known_read(opened +
                    "@p1 cuMemcpyHtoD(r2+64, host(9, fill=3), 9)\nb1 = host(9)\n"
                    "cuMemcpyDtoH(b1, r1+64, 9)\n");
  // Memory keeps its content when it is opened, also by the second open.
  expect_known_read(
      "@p1 r1 = cuMemAlloc(2M)\n@p1 cuMemsetD8(r1, 7, 16)\n"
      "@p1 s1 = cuIpcGetMemHandle(r1)\nr2 = cuIpcOpenMemHandle(s1, 1)\n"
      "r3 = cuIpcOpenMemHandle(s1, 1)\ncuIpcCloseMemHandle(r2)\nb1 = host(16)\n"
      "cuMemcpyDtoH(b1, r3, 16)\n");
}

// The answer of the last call, and the rules that the reference sees it break.
std::string last_note(const std::string& text) {
  const Ops ops = ops_of(text);
  const Result result = two_processes().run(ops);
  EXPECT_EQ(result.problem, "") << text;
  return notes_of(result).back().text;
}

TEST(Processes, OpenedMemoryIsTheOtherProcesses) {
  const std::string opened = kOpened;
  EXPECT_EQ(last_note(opened + "@p1 cuMemFree(r2)\n"),
            "CUDA_ERROR_INVALID_VALUE !cuMemFree-not-opened");
  EXPECT_EQ(last_note(opened + "@p1 s2 = cuIpcGetMemHandle(r2)\n"),
            "CUDA_ERROR_INVALID_VALUE !cuIpcGetMemHandle-not-opened");
  EXPECT_EQ(last_note(opened + "r3 = cuIpcOpenMemHandle(s1, 1)\n"),
            "CUDA_ERROR_INVALID_CONTEXT !cuIpcOpenMemHandle-other-process");
  EXPECT_EQ(last_note(opened + "@p1 cuIpcCloseMemHandle(r2+4K)\n"),
            "CUDA_ERROR_INVALID_VALUE !cuIpcCloseMemHandle-dptr-opened");
  EXPECT_EQ(last_note(opened + "@p1 cuIpcCloseMemHandle(r2)\n@p1 cuIpcCloseMemHandle(r2)\n"),
            "CUDA_ERROR_INVALID_VALUE !cuIpcCloseMemHandle-pairing");
  EXPECT_EQ(last_note(opened + "cuMemFree(r1)\n"),
            "CUDA_SUCCESS !cuIpcGetMemHandle-freed-after-close");
  // As on an H200: memory that is open is counted, and memory that is no longer open is not found.
  EXPECT_EQ(last_note(opened + "cuMemFree(r1)\n@p1 r3 = cuIpcOpenMemHandle(s1, 1)\n"),
            "CUDA_SUCCESS");
  EXPECT_EQ(last_note(opened + "@p1 cuIpcCloseMemHandle(r2)\ncuMemFree(r1)\n"
                               "@p1 r3 = cuIpcOpenMemHandle(s1, 1)\n"),
            "CUDA_ERROR_INVALID_VALUE !cuIpcOpenMemHandle-memory-alive");
}

// The content of such memory is unknown, so a recorder does not touch it on a real driver.
TEST(Processes, WhatIsFreedWhileItIsOpenIsNotTouched) {
  for (const char* touch :
       {"@p1 cuMemsetD8(r2, 7, 16)\n", "@p1 b1 = host(9)\n@p1 cuMemcpyDtoH(b1, r2+2M, 9)\n"}) {
    for (const bool freed : {false, true}) {
      const Ops ops = ops_of(std::string(kOpened) + (freed ? "cuMemFree(r1)\n" : "") + touch);
      const Result result = two_processes().run(ops);
      EXPECT_EQ(result.problem, "");
      EXPECT_EQ(result.steps.back().judgement.dangerous(two_processes().profile(),
                                                        result.steps.back().entry),
                freed);
    }
  }
}

TEST(Processes, OtherAreasBelongToTheFirstProcess) {
  const Ops ops = ops_of(
      "@p1 h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)\n"
      "@p1 r1 = cuMemAddressReserve(2M)\n"
      "@p1 cuMemMap(r1, 2M, h1)\n"
      "@p1 cuMemSetAccess(r1, 2M, [device0:rw])\n"
      "@p1 cuMemsetD8(r1, 7, 16)\n"
      "@p1 d1 = cuMemExportToShareableHandle(h1, posix_fd)\n"
      // Process 1 imports an export of process 0.
      "@p1 x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})\n"
      "r2 = cuExternalMemoryGetMappedBuffer(x1, {offset=0, size=2M})\n"
      "b1 = host(16, fill=0xcd)\n"
      "cuMemcpyDtoH(b1, r2, 16)\n"
      "@p1 h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n");
  EXPECT_EQ(process_of(ops[6]), 0);
  const Result result = two_processes().run(ops);
  EXPECT_EQ(result.problem, "");
  for (std::size_t at = 0; at < 9; ++at) {
    EXPECT_TRUE(result.steps[at].answer.run) << at;
    EXPECT_EQ(result.steps[at].answer.result, CUDA_SUCCESS) << at;
  }
  EXPECT_FALSE(result.steps[8].judgement.unpredictable);  // the 7s are known
  EXPECT_FALSE(result.steps[9].answer.run);               // the driver has the descriptor
}

TEST(Processes, WhatStandsForAPoolOrATeamDoesNotCross) {
  const Result result = two_processes().run(
      ops_of("h1 = cuMulticastCreate({numDevices=2, size=2M, handleTypes=posix_fd})\n"
             "d1 = cuMemExportToShareableHandle(h1, posix_fd)\n"
             "@p1 h2 = cuMemImportFromShareableHandle(d1, posix_fd)\n"
             "o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})\n"
             "d2 = cuMemPoolExportToShareableHandle(o1, posix_fd)\n"
             "@p1 h3 = cuMemImportFromShareableHandle(d2, posix_fd)\n"
             "@p1 cuMemRelease(h3)\n"));
  EXPECT_EQ(result.problem, "");
  EXPECT_TRUE(result.steps[2].skipped);
  EXPECT_TRUE(result.steps[5].skipped);
  EXPECT_FALSE(result.steps[6].answer.run);
}

TEST(Processes, GeneratedProgramsShareMemoryAndAgree) {
  Random random(5);
  Statistics statistics;
  unsigned imports = 0, reads = 0, opens = 0, opened_reads = 0;
  for (int i = 0; i < 300; ++i) {
    const Ops ops = generate(random, swarm(random, kTwo));
    const Result result = two_processes().run(ops);
    ASSERT_EQ(result.problem, "") << to_text(ops, notes_of(result));
    statistics.add(result);
    std::vector<int> exporters(256, -1);
    bool imported[kProcesses] = {};
    std::vector<bool> opened(256);
    for (std::size_t at = 0; at < ops.size(); ++at) {
      const Step& step = result.steps[at];
      if (!step.answer.run || step.answer.result != CUDA_SUCCESS) continue;
      const int process = process_of(ops[at]);
      if (ops[at].code == Code::kExport) exporters[ops[at].name] = process;
      if (ops[at].code == Code::kImport && exporters[ops[at].ref] == 1 - process) {
        imported[process] = true;
        ++imports;
      }
      if (ops[at].code == Code::kRead && imported[process] && !step.judgement.unpredictable) {
        ++reads;
      }
      if (ops[at].code == Code::kIpcOpen) {
        opened[ops[at].name] = true;
        ++opens;
      }
      if (ops[at].code == Code::kRead && opened[ops[at].ref] && !step.judgement.unpredictable) {
        ++opened_reads;
      }
    }
  }
  EXPECT_GE(statistics.succeeded * 10, statistics.calls * 7) << statistics.text();
  EXPECT_GE(imports, 150u);
  EXPECT_GE(reads, 20u);
  EXPECT_GE(opens, 100u);
  EXPECT_GE(opened_reads, 10u);
  std::printf("%s, %u imports, %u reads, %u opens, %u reads of what was opened\n",
              statistics.text().c_str(), imports, reads, opens, opened_reads);
}

TEST(Processes, GeneratedProgramsAgreeUnderTheShim) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    const Ops ops = generate(random, swarm(random, kTwo));
    const Result result = run_share(two_processes(), ops);
    ASSERT_EQ(result.problem, "") << to_text(ops, notes_of(result));
  }
}

TEST(Processes, MutantsAgree) {
  Random random(6);
  Ops before = generate(random, swarm(random, kTwo));
  for (int i = 0; i < 500; ++i) {
    Ops ops = random.chance(30) ? generate(random, swarm(random, kTwo)) : before;
    mutate(ops, random, kTwo, 60);
    if (random.chance(20)) ops = cross_over(ops, before, random, 60);
    const Result result = two_processes().run(ops);
    ASSERT_EQ(result.problem, "") << to_text(ops, notes_of(result));
    before = ops;
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
