// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/judge.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <sstream>

namespace cuvmm::tools {

namespace {

void take_most(std::map<std::string, Tally>& all, const std::map<std::string, Tally>& more) {
  for (const auto& [key, tally] : more) {
    Tally& known = all[key];
    if (tally.count > known.count) known = tally;
  }
}

std::map<std::string, Tally> all_leaks(const Outcome& outcome) {
  std::map<std::string, Tally> all;
  for (const auto& [pid, leaks] : outcome.leaks) {
    for (const auto& [key, tally] : leaks) {
      all[key].count += tally.count;
      all[key].text = tally.text;
    }
  }
  return all;
}

// The text of the first of `found` that the plain run has less often, or not at all; "" for none.
std::string more_than(const std::map<std::string, Tally>& found,
                      const std::map<std::string, Tally>& plain) {
  for (const auto& [key, tally] : found) {
    const auto known = plain.find(key);
    if (known == plain.end() || tally.count > known->second.count) return tally.text;
  }
  return "";
}

const ProcessLog* log_of(const Outcome& outcome, std::int64_t pid) {
  const auto found = std::ranges::find(outcome.logs, pid, &ProcessLog::pid);
  return found == outcome.logs.end() ? nullptr : &*found;
}

// A leak of the run: something that the program lost, or still held at its end although it went on
// after the failure. "" if there is none.
std::string leak_in(const Baseline& baseline, const Outcome& outcome) {
  std::map<std::string, Tally> leaks;
  for (const auto& [pid, found] : outcome.leaks) {
    const ProcessLog* const log = log_of(outcome, pid);
    if (log && (log->ended_at_once() || log->gave_up)) continue;
    for (const auto& [key, tally] : found) {
      leaks[key].count += tally.count;
      leaks[key].text = tally.text;
    }
  }
  if (std::string text = more_than(leaks, baseline.leaks); !text.empty()) return text;
  for (const ProcessLog& log : outcome.logs) {
    // A process in which no call failed holds its memory for other reasons than the failure.
    if (log.injections == 0 || log.ended_at_once() || log.gave_up) continue;
    for (const auto& [key, tally] : log.left) {
      // A program that holds objects of a kind at its end without failures may hold more of them.
      const std::string kind = key.substr(0, key.find('\n'));
      const bool usual = std::ranges::any_of(
          baseline.kinds, [&](const auto& known) { return known.first == kind; });
      if (!usual) return tally.text + ": still there at the end";
    }
  }
  return "";
}

}  // namespace

void Baseline::add(const Outcome& plain) {
  exit_code = runs == 0 ? plain.exit_code : exit_code;
  output_known = runs == 0 || (output_known && output == plain.output);
  if (runs == 0) output = plain.output;
  if (plain.signal != 0) signal = plain.signal;
  seconds = std::max(seconds, plain.seconds);
  take_most(findings, plain.findings);
  take_most(leaks, all_leaks(plain));
  for (const ProcessLog& log : plain.logs) {
    for (const auto& [kind, count] : log.kinds) kinds[kind] = std::max(kinds[kind], count);
  }
  ++runs;
}

bool says_as_much(const std::string& text, const std::string& plain) {
  std::istringstream output(text), wanted(plain);
  std::string line, next;
  while (std::getline(wanted, next)) {
    do {
      if (!std::getline(output, line)) return false;
    } while (line != next);
  }
  return true;
}

Judgement judge(const Baseline& baseline, const Outcome& outcome) {
  if (outcome.signal != 0 && outcome.signal != baseline.signal) {
    return {Verdict::kCrash,
            fmt::format("signal {} ({})", outcome.signal, strsignal(outcome.signal))};
  }
  if (outcome.timed_out) {
    return {Verdict::kHang, fmt::format("not over after {:.0f} s; the plain run takes {:.2f} s",
                                        outcome.seconds, baseline.seconds)};
  }
  if (std::string text = more_than(outcome.findings, baseline.findings); !text.empty()) {
    return {Verdict::kFinding, text};
  }
  if (std::string text = leak_in(baseline, outcome); !text.empty()) return {Verdict::kLeak, text};
  if (outcome.exit_code != baseline.exit_code) {
    return {Verdict::kHandled, fmt::format("exit code {}", outcome.exit_code)};
  }
  if (baseline.output_known && !says_as_much(outcome.output, baseline.output)) {
    return {Verdict::kWrongExit,
            fmt::format("exit code {}, but not all that the plain run prints", outcome.exit_code)};
  }
  return {Verdict::kClean, ""};
}

}  // namespace cuvmm::tools
