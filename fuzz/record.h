// Records a driver's answers to many generated programs in one process at a time.
#pragma once

#include <chrono>

#include "fuzz/isolation.h"
#include "fuzz/recording.h"

namespace cuvmm::fuzz {

struct RecordOptions {
  std::string driver;
  std::string profile;  ///< says which calls would kill the driver; empty: the newest GPU's
  std::string output;
  std::uint64_t seed = 1;
  std::uint64_t calls = 100000;  ///< stop after so many
  std::chrono::milliseconds time{55000};
  int processes = 1;  ///< of the programs; the second process is a child of the recorder's child
};

struct RecordSummary {
  std::uint64_t programs = 0, calls = 0, succeeded = 0, left_out = 0;
  unsigned restarts = 0;  ///< the driver died, hung or would not clean up
  double seconds = 0;
  std::string error;
};

/// Programs are generated from the seed and their number. Calls whose broken rules make a driver
/// read freed or foreign memory are left out. A child runs them; when it dies or hangs, that is
/// recorded, and another one goes on with the next program. So it is when a second process is lost.
RecordSummary record(const RecordOptions& options);

/// Where a driver and the recording differ.
struct Difference {
  std::string kind;  ///< "cuMemUnmap: recorded CUDA_SUCCESS, here CUDA_ERROR_INVALID_VALUE !rule"
  std::uint64_t count = 0;
  std::string example;  ///< the first program, shortened to the call, with this driver's answers
  std::string reason;   ///< why it is permitted; empty: it is not
};
struct Comparison {
  std::vector<Difference> differences;
  std::uint64_t calls = 0, unexplained = 0;
  std::uint64_t beyond = 0;  ///< calls not compared: the two machines may have differed by then
  std::uint64_t deaths = 0;  ///< of the recorded driver, in calls that the reference warns of
  std::string error;
};
/// Runs the recorded programs on another driver in this process, which is used up by that, and in
/// `peer` where they are those of two. The
/// rest of a program is not compared after a difference, nor after a call that changed something
/// outside what its names stand for (fuzz/layout.h). `permitted` has a line per kind that may
/// differ: the beginning of its text, then " # " and the reason.
Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   std::string_view permitted, std::unique_ptr<Peer> peer = nullptr);

}  // namespace cuvmm::fuzz
