// SPDX-License-Identifier: Apache-2.0
// Runs programs about objects, searches for one that disagrees, and shortens it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fuzz/objects/machine.h"
#include "fuzz/objects/op.h"

namespace cuvmm::fuzz::objects {

struct Result {
  /// "op 3, cuGraphLaunch: ..."; empty where the driver and the reference agree.
  std::string problem = {};
  std::string text = {};  ///< the calls that were made, with their answers
  unsigned calls = 0, succeeded = 0;
  unsigned skipped = 0;  ///< ops that the reference left out
};

/// Runs one program, and ends the objects that it left, in this process.
Result run(const Functions& driver, const Ops& ops);

/// Runs one program in a process of its own. The end of that process by a signal is a problem, too.
Result run_alone(const Functions& driver, const Ops& ops);

struct Found {
  Ops ops = {};
  Result result = {};
  double seconds = 0;
  std::uint64_t programs = 0, calls = 0, succeeded = 0;
};
struct Limits {
  std::chrono::milliseconds time{10'000};
  std::uint64_t programs = ~std::uint64_t{0};
};
/// Searches until a program disagrees or a limit is met. A seed determines the programs.
Found search(const Functions& driver, std::uint64_t seed, Limits limits);

struct Shortened {
  Ops ops = {};
  Result result = {};
  unsigned tries = 0;
};
/// Drops ops, and makes numbers smaller, as long as the rest has a problem of the same kind.
Shortened shorten(const Functions& driver, const Found& found);

/// The problem without its place in the program.
std::string kind_of(const std::string& problem);

}  // namespace cuvmm::fuzz::objects
