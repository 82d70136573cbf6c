// SPDX-License-Identifier: Apache-2.0
// The common part of the two recorders, cuvmm-fuzz-record and cuvmm-fuzz-plain: their arguments,
// the permitted differences, and the output.
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
  std::string profile;  ///< tells which calls would kill the driver; empty: the newest GPU's
  std::string output;
  std::uint64_t seed = 1;
  std::uint64_t calls = 100000;  ///< stop after this many calls
  std::chrono::milliseconds time{55000};
  int processes = 1;     ///< of each program; the second process is a child of the recorder's child
  bool further = false;  ///< programs also of the families of calls that came later
};

struct RecordSummary {
  std::uint64_t programs = 0, calls = 0, succeeded = 0, left_out = 0;
  unsigned restarts =
      0;  ///< times that the driver died, hung, did not clean up, or lost its context
  double seconds = 0;
  std::string error;
};

/// A difference between a driver and a recording.
struct Difference {
  std::string kind;  ///< "cuMemUnmap: recorded CUDA_SUCCESS, here CUDA_ERROR_INVALID_VALUE !rule"
  std::uint64_t count = 0;
  std::string example;   ///< the first program, shortened to the call, with this driver's answers
  std::string others{};  ///< a few more such calls
  std::string reason{};  ///< why the difference is permitted; empty: it is not
};

/// Printed below a call whose recorded answer is only in a digest.
inline constexpr const char* kFullRecordings =
    "(by the digest of its answers; fuzz/recorded/README.md says where the full recording is)\n";

/// Why a kind of difference may occur so often in one recording; empty: it may not. `permitted` has
/// a line for each permitted kind: the beginning of its text, then " # " and the reason. A reason
/// that begins with "at most N: " permits no more than N.
std::string reason_of(const std::string& kind, std::uint64_t count, std::string_view permitted);

struct RecorderArguments {
  RecordOptions record;
  std::string compare, permitted, print;
  std::string abridge;    ///< with `compare` of a full recording: the path of the abridged one
  bool cut = false;       ///< with `compare`: Judging::cut
  std::size_t every = 1;  ///< with `compare`: one of this many programs, or groups, is compared
};
/// Nothing where the arguments ask for no job, or for more than one.
std::optional<RecorderArguments> recorder_arguments(int argc, char** argv);

/// The file's bytes; empty where the file cannot be read, or the path is empty.
std::string file_bytes(const std::string& path);

/// Prints a summary on stdout and errors on stderr. Returns the exit code.
int tell(const char* tool, const RecordSummary& done);
void tell(const std::vector<Difference>& differences);

}  // namespace cuvmm::fuzz
