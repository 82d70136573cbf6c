// SPDX-License-Identifier: Apache-2.0
// Runs programs about work in flight on the emulator. The shim must find what the reference
// expects. Where a synchronisation that a corpus program needs is taken out, the shim must report
// that it is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "fuzz/flight/compare.h"
#include "fuzz/flight/maker.h"
#include "fuzz/flight/search.h"
#include "fuzz/search/testing.h"

namespace cuvmm::fuzz::flight {
namespace {

const Target& emulator() {
  static const Target* const only = [] {
    auto* const target = new Target(open_target(CUVMM_EMULATOR));
    target->quiet = true;
    return target;
  }();
  return *only;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has(const Result& result, Rule rule) {
  return std::find(result.found.begin(), result.found.end(), rule) != result.found.end();
}

TEST(Flight, ProgramsOfTheCorpusAgreeHoweverLateTheWorkIs) {
  const auto files = corpus("flight");
  ASSERT_GE(files.size(), 30u);
  for (const auto& file : files) {
    for (const char* const streams : {"eager", "late", "late:1"}) {
      const Result result = run_alone(emulator(), read(file), streams);
      EXPECT_EQ(result.problem, "") << file << ", " << streams << "\n"
                                    << annotated(read(file), result);
      EXPECT_NE(result.calls, 0u) << file;
    }
  }
}

TEST(Flight, OfTheCorpusIsFoundWhatItSays) {
  for (const auto& file : corpus("flight")) {
    const std::string text = read(file);
    const Result result = run_alone(emulator(), text, "late");
    std::vector<std::string> written, found;
    for (const std::string& line : lines_of(text)) {
      for (std::size_t at = line.find(" !"); at != std::string::npos;
           at = line.find(" !", at + 1)) {
        written.push_back(line.substr(at + 2, line.find(' ', at + 2) - at - 2));
      }
    }
    for (const Rule rule : result.found) found.emplace_back(info(rule).id);
    EXPECT_EQ(found, written) << file;
  }
}

// The number of kernels that were launched or captured.
unsigned launched(const std::string& text, const Result& result) {
  const std::vector<std::string> lines = lines_of(annotated(text, result));
  return static_cast<unsigned>(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
    return line.find("Kernel(") != std::string::npos &&
           line.find("# CUDA_SUCCESS") != std::string::npos;
  }));
}

// Each marked line is a synchronisation that a programmer could forget.
TEST(Flight, EachMissingSynchronisationIsFound) {
  const std::string mark = "needed: ";
  int planted = 0;
  for (const auto& file : corpus("flight")) {
    const std::string text = read(file);
    const std::vector<std::string> lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t at = lines[i].find(mark);
      if (at == std::string::npos) continue;
      const auto rule = find_rule(lines[i].substr(at + mark.size()));
      ASSERT_TRUE(rule) << file << ": " << lines[i];
      ++planted;
      const Result result = run_alone(emulator(), without_line(text, i), "late");
      EXPECT_EQ(result.problem, "") << file;
      EXPECT_TRUE(has(result, *rule)) << file << " without " << lines[i] << "\n"
                                      << annotated(without_line(text, i), result);
    }
  }
  EXPECT_GE(planted, 30);
}

// The seed decides whether the copy is over when its source is unmapped. If so, the shim has
// queried the copy and knows that only the kernel keeps the legacy stream busy; the program does
// not know.
TEST(Flight, AShimMayKnowMoreThanTheProgramOfWhatTheLegacyStreamWaitsFor) {
  const std::string text = R"(cuvmm-program 1
init()
t1 = cuStreamCreate(Flags=1)
t2 = cuStreamCreate(Flags=0)
h1 = cuMemCreate(2M, device=0, handle_types=posix_fd)
d1 = cuMemExportToShareableHandle(h1, posix_fd)
x1 = cuImportExternalMemory({type=opaque_fd, fd=d1, size=2M})
r1 = cuExternalMemoryGetMappedBuffer(x1, {offset=0, size=2M})
h2 = cuMemCreate(2M, device=0)
r2 = cuMemAddressReserve(2M)
cuMemMap(r2, 2M, h2)
cuMemSetAccess(r2, 2M, [device0:rw])
k1 = kernel(fill)
cuMemcpyDtoDAsync(r1, r2, 64, hStream=t1)
cuMemUnmap(r2, 2M)
cuLaunchKernel(k1, 1, 1, 1, 32, 1, 1, 0, kernelParams=[r1, 7, 8], hStream=0)
e1 = cuEventCreate(Flags=2)
cuEventRecord(e1, hStream=t1)
cuStreamWaitEvent(hEvent=e1, hStream=t2)
cuDestroyExternalMemory(x1)
)";
  int certain = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    const std::string streams = "late:" + std::to_string(seed);
    const Result result = run_alone(emulator(), text, streams);
    EXPECT_EQ(result.problem, "") << streams << "\n" << annotated(text, result);
    certain += has(result, Rule::kExtDestroyInFlight);
  }
  EXPECT_GT(certain, 0);
}

TEST(Flight, MadeProgramsAgree) {
  Random random(11);
  unsigned calls = 0, robbed = 0, quiet = 0, launches = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string text = make_program(random, i % 10 == 0 ? 2 : 1);
    const std::string streams = i % 2 == 0 ? "late" : "late:" + std::to_string(i);
    const Result result = run_alone(emulator(), text, streams);
    ASSERT_EQ(result.problem, "") << streams << "\n" << annotated(text, result);
    calls += result.calls;
    launches += launched(text, result);
    ++(result.stopped ? robbed : quiet);
  }
  EXPECT_GT(launches, 20u);
  EXPECT_GT(calls, 600u);
  EXPECT_GT(robbed, 5u);
  EXPECT_GT(quiet, 5u);
}

TEST(Flight, WhatIsFoundOfALaunchIsToldApart) {
  const std::string head =
      "cuvmm-program 1\ninit()\nk1 = kernel(fill)\nr1 = cuMemAddressReserve(2M)\n"
      "h1 = cuMemCreate(2M, device=0)\ncuMemMap(r1, 2M, h1)\n"
      "cuMemSetAccess(r1, 2M, [device0:rw])\nt1 = cuStreamCreate(Flags=1)\n";
  const std::string launch =
      "cuLaunchKernel(k1, 1, 1, 1, 32, 1, 1, 0, kernelParams=[r1, 7, 8], hStream=t1)\n";
  const std::string fill = "cuMemsetD8Async(r1, 1, 64, hStream=t1)\n";
  const std::string end = "cuMemUnmap(r1, 2M)\n";
  const std::vector<Rule> expected = {Rule::kUnmapInFlight};
  EXPECT_EQ(run_alone(emulator(), head + launch + end, "late").of_kernels, expected);
  const Result other = run_alone(emulator(), head + fill + end, "late");
  EXPECT_EQ(other.found, expected);
  EXPECT_TRUE(other.of_kernels.empty());
}

// Only such programs show whether a stream waits for an event.
TEST(Flight, MadeProgramsWaitForAStreamThatWaitedForTheWork) {
  const std::regex chain(
      "cuEventRecord\\((e\\d+), hStream=(\\w+)\\)\n.*cuStreamWaitEvent\\(hEvent=\\1, "
      "hStream=(?!\\2\\b)(\\w+)\\)\n.*cuStreamSynchronize\\(hStream=\\3\\)\n"
      ".*cu(MemUnmap|MemSetAccess|IpcCloseMemHandle|DestroyExternalMemory)\\(");
  Random random(1);
  int chains = 0;
  for (int i = 0; i < 1000; ++i) chains += std::regex_search(make_program(random, 1), chain);
  EXPECT_GE(chains, 20);
}

TEST(Flight, ALineGoesWithWhatNeedsIt) {
  const std::string text = "r1 = cuMemAlloc(2M)\n@t1 r11 = cuMemAlloc(2M)\ncuMemFree(r1)\n";
  EXPECT_EQ(without_line(text, 0), "@t1 r11 = cuMemAlloc(2M)\n");
  EXPECT_EQ(without_line(text, 1), "r1 = cuMemAlloc(2M)\ncuMemFree(r1)\n");
  EXPECT_EQ(without_line(text, 2), "r1 = cuMemAlloc(2M)\n@t1 r11 = cuMemAlloc(2M)\n");
}

TEST(Flight, AProgramThatCannotBeReadIsAProblem) {
  const Result result = run_alone(emulator(), "cuvmm-program 1\ncuMemFree(r1)\n", "late");
  EXPECT_NE(result.problem.find("the text: "), std::string::npos) << result.problem;
}

// --- The comparison

struct FlightCompare : ::testing::Test {
  History history;
  Opinion opinion;
  int stream = history.open(16, History::Kind::kNonBlocking);
  Node node = history.add(stream);

  FlightCompare() {
    opinion.certain = Rule::kUnmapInFlight;
    opinion.uncertain = Rule::kUnmapOrdered;
    opinion.suspects.push_back({node, stream, true, false, false});
  }
  std::string problem(bool before, bool after, const std::vector<Rule>& found) {
    return compare(opinion, history, {{stream, before}}, {{stream, after}}, found).problem;
  }
};

TEST_F(FlightCompare, WhatIsBusyThroughoutMustBeFound) {
  EXPECT_EQ(problem(true, true, {}), "no finding for cuMemUnmap-idle");
  EXPECT_EQ(problem(true, true, {Rule::kUnmapInFlight}), "");
  EXPECT_EQ(problem(true, true, {Rule::kUnmapOrdered}),
            "a finding without a cause: cuMemUnmap-ordered")
      << "it is the last thing of its stream";
}

TEST_F(FlightCompare, WhatEndsMeanwhileMayBeFound) {
  EXPECT_EQ(problem(true, false, {}), "");
  EXPECT_EQ(problem(true, false, {Rule::kUnmapInFlight}), "");
}

TEST_F(FlightCompare, WhatWasOverMustNotBeFound) {
  EXPECT_EQ(problem(false, false, {}), "");
  EXPECT_EQ(problem(false, false, {Rule::kUnmapInFlight}),
            "a finding without a cause: cuMemUnmap-idle");
}

TEST_F(FlightCompare, WhatHasMoreBehindItIsNeverCertain) {
  opinion.suspects[0].last = false;
  EXPECT_EQ(problem(true, true, {Rule::kUnmapOrdered}), "");
  EXPECT_EQ(problem(true, true, {Rule::kUnmapInFlight}),
            "a finding without a cause: cuMemUnmap-idle");
  EXPECT_EQ(problem(true, true, {}), "no finding for cuMemUnmap-ordered");
}

}  // namespace
}  // namespace cuvmm::fuzz::flight
