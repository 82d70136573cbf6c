// Records a driver's answers to programs about plain memory, and compares another's with them.
#pragma once

#include <chrono>

#include "fuzz/plain/machine.h"
#include "fuzz/plain/recording.h"

namespace cuvmm::fuzz::plain {

struct RecordOptions {
  std::string driver, output;
  std::uint64_t seed = 1;
  std::uint64_t calls = 100000;
  std::chrono::milliseconds time{55000};
};
struct RecordSummary {
  std::uint64_t programs = 0, calls = 0, succeeded = 0, left_out = 0;
  unsigned restarts = 0;  ///< the driver died, hung, or its context was beyond use
  double seconds = 0;
  std::string error;
};
/// Programs run in a child; when it dies or hangs, that is recorded, and another one goes on with
/// the next program.
RecordSummary record(const RecordOptions& options);

struct Difference {
  std::string kind;     ///< "cuMemFree (plain): recorded 0, here 1"
  std::string example;  ///< the first such program up to the call
  std::string others;   ///< a few more such calls, with those that made what they are about
  std::uint64_t count = 0;
  std::string reason;  ///< why it may be
};
struct Comparison {
  std::vector<Difference> differences;
  std::uint64_t calls = 0, unexplained = 0, beyond = 0;
  std::string error;
};
/// Runs the programs on another driver, in this process. `permitted` as in fuzz/record.h.
Comparison compare(const Recording& recording, const Functions& driver, std::string_view permitted);

}  // namespace cuvmm::fuzz::plain
