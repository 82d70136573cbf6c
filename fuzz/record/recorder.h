// SPDX-License-Identifier: Apache-2.0
// What the two recorders, cuvmm-fuzz-record and cuvmm-fuzz-plain, have in common: their arguments,
// what may differ from a recording, and how they tell what they found.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  unsigned restarts = 0;  ///< the driver died, hung, would not clean up, or its context was lost
  double seconds = 0;
  std::string error;
};

/// Where a driver and a recording differ.
struct Difference {
  std::string kind;  ///< "cuMemUnmap: recorded CUDA_SUCCESS, here CUDA_ERROR_INVALID_VALUE !rule"
  std::uint64_t count = 0;
  std::string example;   ///< the first program, shortened to the call, with this driver's answers
  std::string others{};  ///< a few more such calls
  std::string reason{};  ///< why it is permitted; empty: it is not
};

/// Said below a call whose recorded answer is in a digest alone.
inline constexpr const char* kFullRecordings =
    "(by the digest of its answers; fuzz/recorded/README.md says where the full recording is)\n";

/// Why a kind may differ so often in one recording; empty: it may not. `permitted` has a line for
/// each kind that may: the beginning of its text, then " # " and the reason. A reason that begins
/// with "at most N: " is none for more than N.
std::string reason_of(const std::string& kind, std::uint64_t count, std::string_view permitted);

struct RecorderArguments {
  RecordOptions record;
  std::string compare, permitted, print;
  std::string abridge;    ///< with `compare` of a full recording: where the abridged one goes
  std::size_t every = 1;  ///< with `compare`: of how many programs, or groups, one is taken
};
/// Nothing where they are no job, or more than one.
std::optional<RecorderArguments> recorder_arguments(int argc, char** argv);

/// The file's bytes; empty where it cannot be read, or where no path is given.
std::string file_bytes(const std::string& path);

/// On stdout; what went wrong on stderr. The exit code.
int tell(const char* tool, const RecordSummary& done);
void tell(const std::vector<Difference>& differences);

}  // namespace cuvmm::fuzz
