// SPDX-License-Identifier: Apache-2.0
// Searches for a program that shows a finding, and shortens it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fuzz/flight/isolate.h"

namespace cuvmm::fuzz::flight {

/// Names the finding that is searched for; without it, a program that disagrees.
using Wanted = std::function<std::string(const Result&)>;

struct Hunted {
  std::string text, streams;
  std::string what;  ///< the finding, as Wanted names it; empty where the search found none
  Result result;
  double seconds = 0;
  std::uint64_t programs = 0, calls = 0, robbed = 0, faulted = 0;
};

struct HuntOptions {
  std::uint64_t seed = 1;
  std::chrono::milliseconds time{10'000};
  int processes = 1;
  std::string streams;  ///< empty: in turn as late as possible, and late by seeds
};

/// Searches until `wanted` names a finding of a program, or the time is up.
Hunted hunt(const Target& target, const HuntOptions& options, const Wanted& wanted);

struct Shortened {
  std::string text, streams, what;
  unsigned tries = 0;
};
/// Removes lines, with the lines that need them, and replaces streams by default streams, as long
/// as the rest shows the finding.
Shortened shorten(const Target& target, const Hunted& found, const Wanted& wanted);

/// The number of calls in a text, without those that only start a process or a thread.
std::size_t calls_in(const std::string& text);

/// The disagreement without its place in the program.
std::string disagreement_of(const Result& result);

}  // namespace cuvmm::fuzz::flight
