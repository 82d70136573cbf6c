// SPDX-License-Identifier: Apache-2.0
// Looks for a program that shows something, from nothing, and makes it short.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fuzz/flight/isolate.h"

namespace cuvmm::fuzz::flight {

/// What is looked for: nothing means a program that disagrees.
using Wanted = std::function<std::string(const Result&)>;

struct Hunted {
  std::string text, streams;
  std::string what;  ///< what it shows, as Wanted says; empty where nothing was met
  Result result;
  double seconds = 0;
  std::uint64_t programs = 0, calls = 0, robbed = 0, faulted = 0;
};

struct HuntOptions {
  std::uint64_t seed = 1;
  std::chrono::milliseconds time{10'000};
  int processes = 1;
  std::string streams;  ///< empty: as late as can be, and late by seeds in turn
};

/// Until `wanted` says something of a program, or the time is up.
Hunted hunt(const Target& target, const HuntOptions& options, const Wanted& wanted);

struct Shortened {
  std::string text, streams;
  unsigned tries = 0;
};
/// Takes out lines, with what needs them, and puts default streams in place of others, as long as
/// the rest shows the same.
Shortened shorten(const Target& target, const Hunted& found, const Wanted& wanted);

/// How many calls a text makes, but for those that only start a process or a thread.
std::size_t calls_in(const std::string& text);

/// What is wrong, wherever in a program.
std::string disagreement_of(const Result& result);

}  // namespace cuvmm::fuzz::flight
