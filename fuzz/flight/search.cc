// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/search.h"

#include <algorithm>
#include <sstream>

#include "fuzz/flight/maker.h"

namespace cuvmm::fuzz::flight {

namespace {

using SteadyClock = std::chrono::steady_clock;

std::string any_streams(Random& random) {
  return random.chance(40) ? "late" : "late:" + std::to_string(1 + random.below(1'000'000));
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::string disagreement_of(const Result& result) {
  const std::string& problem = result.problem;
  if (problem.rfind("line ", 0) != 0) return problem;
  return problem.substr(problem.find(", ") + 2);
}

std::size_t calls_in(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool call = line.find('(') != std::string::npos;
    const bool starts = line.find("init()") != std::string::npos ||
                        line.find("context(") != std::string::npos ||
                        line.find(" = host(") != std::string::npos;
    count += call && !starts;
  }
  return count;
}

Hunted hunt(const Target& target, const HuntOptions& options, const Wanted& wanted) {
  Hunted out;
  Random random(options.seed);
  const auto begin = SteadyClock::now();
  const auto spent = [&] { return SteadyClock::now() - begin; };
  while (out.what.empty() && spent() < options.time) {
    out.text = make_program(random, options.processes);
    out.streams = options.streams.empty() ? any_streams(random) : options.streams;
    out.result = run_alone(target, out.text, out.streams);
    ++out.programs;
    out.calls += out.result.calls;
    out.robbed += out.result.stopped;
    out.faulted += out.result.faulted;
    out.what = wanted(out.result);
  }
  out.seconds = std::chrono::duration<double>(spent()).count();
  return out;
}

Shortened shorten(const Target& target, const Hunted& found, const Wanted& wanted) {
  constexpr unsigned kMostTries = 1500;
  Shortened out{found.text, found.streams};
  // A seed means something else in a shorter program: as late as can be is tried as well.
  const auto shows = [&](const std::string& text) {
    for (const std::string& streams : {out.streams, std::string("late")}) {
      if (wanted(run_alone(target, text, streams)) != found.what) continue;
      out.streams = streams;
      return true;
    }
    return false;
  };
  for (bool shorter = true; shorter && out.tries < kMostTries;) {
    shorter = false;
    // From the end, so that what is needed by nothing any more goes early.
    for (std::size_t line = lines_in(out.text); line-- > 2 && out.tries < kMostTries;) {
      std::string less = without_line(out.text, line);
      if (less == out.text) continue;
      ++out.tries;
      if (!shows(less)) continue;
      out.text = std::move(less);
      shorter = true;
    }
  }
  return out;
}

}  // namespace cuvmm::fuzz::flight
