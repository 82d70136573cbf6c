// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/search.h"

#include <algorithm>
#include <sstream>

#include "fuzz/finding/drop.h"
#include "fuzz/finding/progress.h"
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
    const bool starts =
        line.find("init()") != std::string::npos || line.find("context(") != std::string::npos ||
        line.find(" = host(") != std::string::npos || line.find(" = kernel(") != std::string::npos;
    count += call && !starts;
  }
  return count;
}

Hunted hunt(const Target& target, const HuntOptions& options, const Wanted& wanted) {
  Hunted out;
  Random random(options.seed);
  Progress progress;
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
    progress.tell(out.programs, out.calls);
  }
  out.seconds = std::chrono::duration<double>(spent()).count();
  return out;
}

namespace {

/// Whether a shorter program shows the same finding. Whichever call comes next answers the fault of
/// queued work, so the name of that call does not count, nor does the operation that faulted.
bool alike(const std::string& what, const std::string& found) {
  const auto is_fault = [](const std::string& text) {
    return text.ends_with(" answered CUDA_ERROR_ILLEGAL_ADDRESS") ||
           text.ends_with(" answered CUDA_ERROR_LAUNCH_FAILED");
  };
  return what == found || (is_fault(what) && is_fault(found));
}

/// Tries shorter and simpler texts that still show the finding.
class Shortener {
 public:
  Shortener(const Target& target, const Hunted& found, const Wanted& wanted)
      : target_(target),
        found_(found),
        wanted_(wanted),
        best_{found.text, found.streams, found.what} {}
  Shortened run() {
    const auto lines = [this] { return lines_in(best_.text); };
    const auto pair = [&] {
      // A wait and its record, which may have made an event stand for another record.
      return lines() <= kFew &&
             drop_pair(kHead, lines, [this](std::size_t first, std::size_t second) {
               return better(without_line(without_line(best_.text, second), first));
             });
    };
    const auto runs = [&] {
      return drop_runs(kHead, lines, [this](std::size_t first, std::size_t count) {
        std::string text = best_.text;
        for (std::size_t line = first + count; line-- > first;) {
          if (line < lines_in(text)) text = without_line(text, line);
        }
        return better(text);
      });
    };
    while (runs() || pair() || default_stream()) {
    }
    best_.tries = tries_.made();
    return best_;
  }

 private:
  static constexpr std::size_t kFew = 24;  ///< lines for which all pairs are tried
  static constexpr std::size_t kHead = 2;  ///< lines that stay: the version, and init()

  bool better(const std::string& text) {
    if (text == best_.text || !tries_.next()) return false;
    // In another program a seed gives other times, so the latest possible times are tried as well.
    for (const std::string& streams : {best_.streams, std::string("late")}) {
      std::string what = wanted_(run_alone(target_, text, streams));
      if (!alike(what, found_.what)) continue;
      best_.what = std::move(what);
      best_.text = text;
      best_.streams = streams;
      return true;
    }
    return false;
  }
  // A default stream needs no call to make it.
  bool default_stream() {
    const std::string key = "hStream=t";
    for (std::size_t at = best_.text.find(key); at != std::string::npos;
         at = best_.text.find(key, at + 1)) {
      const std::size_t end = best_.text.find_first_of(",)", at);
      for (const char* const stream : {"0", "2"}) {
        std::string text = best_.text;
        text.replace(at + key.size() - 1, end - at - key.size() + 1, stream);
        if (better(text)) return true;
      }
    }
    return false;
  }

  const Target& target_;
  const Hunted& found_;
  const Wanted& wanted_;
  Shortened best_;
  // Each try is a process, or two.
  Tries tries_{{.tries = 1000, .time = std::chrono::minutes(5)}};
};

}  // namespace

Shortened shorten(const Target& target, const Hunted& found, const Wanted& wanted) {
  return Shortener(target, found, wanted).run();
}

}  // namespace cuvmm::fuzz::flight
