// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/injector.h"

#include <cerrno>
#include <utility>

#include "api/documented_results/documented_results.h"
#include "api/driver/driver.h"
#include "api/posix/cancel_off.h"
#include "shim/fail/first_failure.h"
#include "shim/fail/site.h"
#include "shim/output/output.h"

namespace cuvmm::shim {

namespace {
constexpr std::size_t kMostListed = 1000;  // injections with their places
constexpr std::uint64_t kMostSaid = 10;
constexpr std::chrono::milliseconds kPatienceForSites{1000};

void tell(const Injected& one, std::uint64_t injections) {
  if (injections > kMostSaid) return;
  say(std::string(name(one.entry)) + " was made to fail and answers " + result_name(one.code) +
      " (site " + site_text(one.site) + ", its call " + std::to_string(one.count) + ")");
  if (injections == kMostSaid) say("further calls that are made to fail are not named");
}

}  // namespace

Injector::Injector(injected_failures::Spec spec, std::string log)
    : spec_(std::move(spec)), log_(std::move(log)), counts_(spec_.clauses.size(), 0) {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const auto entry = static_cast<EntryPoint>(i);
    for (const injected_failures::Clause& clause : spec_.clauses) {
      if (clause.names(entry) && clause.answer(entry)) named_.set(i);
    }
  }
}

std::optional<CUresult> Injector::answer(EntryPoint entry,
                                         const injected_failures::CallFacts& facts,
                                         const Caller& caller) noexcept {
  const int program_errno = errno;
  std::optional<CUresult> code;
  try {
    const CancelOff no_cancel;
    code = answer_now(entry, facts, caller);
  } catch (...) {
    say("out of memory: a call that was to fail may not have");
  }
  errno = program_errno;
  return code;
}

std::optional<CUresult> Injector::answer_now(EntryPoint entry,
                                             const injected_failures::CallFacts& facts,
                                             const Caller& caller) {
  if (arms_.any()) {
    if (const auto code = arms_.answer(entry, facts, caller)) return code;
  }
  const bool named = named_[static_cast<std::size_t>(entry)];
  if (!named && (!logs() || injects())) {
    if (injections_.load(std::memory_order_relaxed) != 0) calls_after_.fetch_add(1);
    return std::nullopt;
  }
  const StackId stack = capture_stack_alone(caller);
  bool frames_wanted = false;
  {
    const Locked lock(mutex_);
    FallibleSite& here = site(entry, stack);
    for (const injected_failures::Clause& clause : spec_.clauses) {
      frames_wanted = frames_wanted || (clause.asks_for_frames() && clause.names(entry));
    }
    frames_wanted = frames_wanted && here.frames_match.empty();
  }
  std::vector<bool> frames;
  if (frames_wanted) {
    for (const injected_failures::Clause& clause : spec_.clauses) {
      frames.push_back(clause.asks_for_frames() && clause.names(entry) &&
                       frames_match(clause, stack));
    }
  }
  Injected one;
  {
    const Locked lock(mutex_);
    FallibleSite& here = site(entry, stack);
    if (frames_wanted && here.frames_match.empty()) here.frames_match = std::move(frames);
    ++here.calls;
    const auto code = first_to_strike(entry, facts, here);
    if (!code) {
      if (injections_.load(std::memory_order_relaxed) != 0) calls_after_.fetch_add(1);
      return std::nullopt;
    }
    one = {entry, stack, here.number, here.calls, *code};
    if (injected_.size() < kMostListed) injected_.push_back(one);
  }
  const std::uint64_t injections = injections_.fetch_add(1) + 1;
  tell(one, injections);
  // Written now for the case that the process is killed later.
  if (logs() && injections == 1) note_first_failure(*this);
  return one.code;
}

FallibleSite& Injector::site(EntryPoint entry, StackId stack) {
  const auto [found, added] = sites_.try_emplace({entry, stack});
  if (added) {
    found->second.entry = entry;
    found->second.stack = stack;
    found->second.number = site_number(entry, stack);
  }
  return found->second;
}

std::optional<CUresult> Injector::first_to_strike(EntryPoint entry,
                                                  const injected_failures::CallFacts& facts,
                                                  const FallibleSite& site) {
  std::optional<CUresult> code;
  for (std::size_t i = 0; i < spec_.clauses.size(); ++i) {
    const injected_failures::Clause& clause = spec_.clauses[i];
    if (!clause.names(entry)) continue;
    if (!clause.fits(facts)) continue;
    if (clause.site && *clause.site != site.number) continue;
    if (clause.asks_for_frames() && !(i < site.frames_match.size() && site.frames_match[i]))
      continue;
    if (!clause.strikes(++counts_[i])) continue;
    if (!code) code = clause.answer(entry);
  }
  return code;
}

std::optional<Injector::Seen> Injector::seen() noexcept {
  if (!mutex_.lock_within(kPatienceForSites)) return std::nullopt;
  const Locked lock(mutex_, kHeldAlready);
  try {
    Seen seen;
    for (const auto& [key, site] : sites_) seen.sites.push_back(site);
    seen.injected = injected_;
    seen.injections = injections_.load();
    seen.calls_after = calls_after_.load();
    return seen;
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace cuvmm::shim
