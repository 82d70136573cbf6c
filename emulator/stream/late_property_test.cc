// SPDX-License-Identifier: Apache-2.0
// Random programs on several streams. A program whose events order it fully leaves equal memory for
// every seed, which is the memory that eager streams leave; a program that lacks a synchronisation
// leaves other memory for some seed. Each run is a process of its own, because a process has one
// seed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "emulator/share/process_testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr int kCells = 4;
constexpr int kStreams = 6;
using Cells = std::array<unsigned, kCells>;

/// Fills a cell, or copies it from another.
struct Step {
  int stream = 0;
  int to = 0;
  int from = 0;  ///< kCells: a fill
  unsigned value = 0;
  bool polls = false;

  bool touches(int cell) const { return to == cell || from == cell; }
  /// Whether the order of the two matters.
  bool conflicts(const Step& other) const { return other.touches(to) || touches(other.to); }
};
std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << "stream " << step.stream << ": cell " << step.to << " = ";
  if (step.from == kCells) return out << step.value;
  return out << "cell " << step.from;
}
using Program = std::vector<Step>;

/// The cells that a child process writes; nothing where a call of the driver failed in it.
using Result = std::optional<Cells>;

template <class Body>
Result in_child(const std::string& streams, Body&& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = start(-1, -1, [&](int) {
    setenv("CUVMM_STREAMS", streams.c_str(), 1);
    initialise();
    const Result result = body();
    if (result) send(ends[1], *result);
  });
  close(ends[1]);
  Cells cells{};
  const bool complete = read(ends[0], &cells, sizeof cells) == static_cast<ssize_t>(sizeof cells);
  close(ends[0]);
  expect_success(child);
  return complete ? Result(cells) : std::nullopt;
}

CUdeviceptr new_cells() {
  CUdeviceptr base = 0;
  CHILD_EXPECT(driver()(calls::MemAlloc{&base, sizeof(Cells)}) == CUDA_SUCCESS);
  CHILD_EXPECT(driver()(calls::MemsetD32{base, 0, kCells}) == CUDA_SUCCESS);
  return base;
}

CUstream new_stream(unsigned flags) {
  CUstream made = nullptr;
  CHILD_EXPECT(driver()(calls::StreamCreate{&made, flags}) == CUDA_SUCCESS);
  return made;
}

CUevent new_event() {
  CUevent made = nullptr;
  CHILD_EXPECT(driver()(calls::EventCreate{&made, CU_EVENT_DISABLE_TIMING}) == CUDA_SUCCESS);
  return made;
}

Result read_cells(CUdeviceptr base) {
  Cells cells{};
  if (driver()(calls::CtxSynchronize{}) != CUDA_SUCCESS) return std::nullopt;
  CHILD_EXPECT(driver()(calls::MemcpyDtoH{cells.data(), base, sizeof cells}) == CUDA_SUCCESS);
  return cells;
}

void do_step(const Step& step, CUdeviceptr base, CUstream stream) {
  const auto cell = [&](int i) { return base + sizeof(unsigned) * static_cast<unsigned>(i); };
  const CUresult result =
      step.from == kCells
          ? driver()(calls::MemsetD32Async{cell(step.to), step.value, 1, stream})
          : driver()(calls::MemcpyDtoDAsync{cell(step.to), cell(step.from), 4, stream});
  CHILD_EXPECT(result == CUDA_SUCCESS);
  if (step.polls) driver()(calls::StreamQuery{stream});
}

// Each step waits for the events of the earlier steps that conflict with it.
Result run_ordered(const Program& program) {
  const CUdeviceptr base = new_cells();
  const CUstream streams[kStreams] = {nullptr,
                                      CU_STREAM_PER_THREAD,
                                      new_stream(CU_STREAM_DEFAULT),
                                      new_stream(CU_STREAM_DEFAULT),
                                      new_stream(CU_STREAM_NON_BLOCKING),
                                      new_stream(CU_STREAM_NON_BLOCKING)};
  std::vector<CUevent> events;
  for (std::size_t i = 0; i < program.size(); ++i) {
    CUstream const stream = streams[program[i].stream];
    for (std::size_t j = 0; j < i; ++j) {
      if (!program[i].conflicts(program[j])) continue;
      CHILD_EXPECT(driver()(calls::StreamWaitEvent{stream, events[j], 0}) == CUDA_SUCCESS);
    }
    do_step(program[i], base, stream);
    events.push_back(new_event());
    CHILD_EXPECT(driver()(calls::EventRecord{events[i], stream}) == CUDA_SUCCESS);
  }
  return read_cells(base);
}

Cells expected(const Program& program) {
  Cells cells{};
  for (const Step& step : program) {
    const auto to = static_cast<std::size_t>(step.to), from = static_cast<std::size_t>(step.from);
    cells[to] = step.from == kCells ? step.value : cells[from];
  }
  return cells;
}

rc::Gen<Step> steps() {
  return rc::gen::build<Step>(rc::gen::set(&Step::stream, rc::gen::inRange(0, kStreams)),
                              rc::gen::set(&Step::to, rc::gen::inRange(0, kCells)),
                              rc::gen::set(&Step::from, rc::gen::inRange(0, kCells + 1)),
                              rc::gen::set(&Step::value, rc::gen::inRange(1u, 100u)),
                              rc::gen::set(&Step::polls));
}

std::string late(std::uint64_t seed) { return "late:" + std::to_string(seed); }

RC_GTEST_PROP(LateProperty, WhatEventsOrderDoesNotDependOnTheSeed, ()) {
  const Program program = *rc::gen::container<Program>(steps());
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Result wanted = expected(program);
  RC_ASSERT(in_child("eager", [&] { return run_ordered(program); }) == wanted);
  RC_ASSERT(in_child(late(0), [&] { return run_ordered(program); }) == wanted);
  RC_ASSERT(in_child(late(seed), [&] { return run_ordered(program); }) == wanted);
}

constexpr std::uint64_t kSeeds = 16;

/// The number of seeds whose result differs from `wanted`.
template <class Body>
int differ(const Cells& wanted, Body&& body) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    count += in_child(late(seed), body) != Result(wanted);
  }
  return count;
}

// Copies cell 0 to cell 1 on another stream, after cell 0 was filled.
Result copy_over(bool with_event) {
  const CUdeviceptr base = new_cells();
  CUstream const first = new_stream(CU_STREAM_NON_BLOCKING);
  CUstream const second = new_stream(CU_STREAM_NON_BLOCKING);
  CUevent const filled = new_event();
  do_step({.from = kCells, .value = 5}, base, first);
  if (with_event) {
    CHILD_EXPECT(driver()(calls::EventRecord{filled, first}) == CUDA_SUCCESS);
    CHILD_EXPECT(driver()(calls::StreamWaitEvent{second, filled, 0}) == CUDA_SUCCESS);
  }
  do_step({.to = 1, .from = 0}, base, second);
  return read_cells(base);
}

TEST(LateStreams, AnEventThatIsMissingShows) {
  constexpr Cells kWanted = {5, 5};
  EXPECT_EQ(differ(kWanted, [] { return copy_over(true); }), 0);
  const int wrong = differ(kWanted, [] { return copy_over(false); });
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, static_cast<int>(kSeeds)) << "some seeds happen to do it in the right order";
}

// Unmaps memory right after work on it was queued.
Result unmap_early(bool synchronised) {
  const CUdeviceptr base = new_cells();
  const Mapped m = mapped();
  do_step({.from = kCells, .value = 5}, m.address, nullptr);
  if (synchronised) CHILD_EXPECT(driver()(calls::CtxSynchronize{}) == CUDA_SUCCESS);
  driver()(calls::MemUnmap{m.address, m.size});
  return read_cells(base);
}

TEST(LateStreams, ASynchronisationThatIsMissingBeforeAnUnmapShows) {
  EXPECT_EQ(differ({}, [] { return unmap_early(true); }), 0);
  EXPECT_GT(differ({}, [] { return unmap_early(false); }), 0);
}

// Frees memory of a pool on another stream than the stream that uses it.
Result free_elsewhere(bool with_event) {
  const CUdeviceptr base = new_cells();
  CUstream const uses = new_stream(CU_STREAM_NON_BLOCKING);
  CUstream const frees = new_stream(CU_STREAM_NON_BLOCKING);
  CUevent const used = new_event();
  CUdeviceptr memory = 0;
  CHILD_EXPECT(driver()(calls::MemAllocAsync{&memory, 64, uses}) == CUDA_SUCCESS);
  do_step({.from = kCells, .value = 5}, memory, uses);
  if (with_event) {
    CHILD_EXPECT(driver()(calls::EventRecord{used, uses}) == CUDA_SUCCESS);
    CHILD_EXPECT(driver()(calls::StreamWaitEvent{frees, used, 0}) == CUDA_SUCCESS);
  }
  driver()(calls::MemFreeAsync{memory, frees});
  return read_cells(base);
}

TEST(LateStreams, AFreeOnAnotherStreamShows) {
  EXPECT_EQ(differ({}, [] { return free_elsewhere(true); }), 0);
  EXPECT_GT(differ({}, [] { return free_elsewhere(false); }), 0);
}

TEST(LateStreams, TheSameSeedGivesTheSameResult) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto once = [&] { return in_child(late(seed), [] { return copy_over(false); }); };
    EXPECT_EQ(once(), once()) << seed;
  }
}

}  // namespace
}  // namespace cuvmm::emulator::testing
