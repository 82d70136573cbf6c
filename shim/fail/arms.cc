// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/arms.h"

#include <utility>

#include "api/documented_results/documented_results.h"
#include "api/driver/driver.h"
#include "shim/fail/site.h"
#include "shim/output/json.h"

namespace cuvmm::shim {

namespace {

constexpr std::size_t kMostArms = 100;

// Whether a clause has a condition about the place of the call.
bool asks_for_stack(const injected_failures::Clause& clause) {
  return clause.asks_for_frames() || clause.site.has_value();
}

}  // namespace

long Arms::open(injected_failures::Spec spec) {
  const Locked lock(mutex_);
  Arm arm;
  arm.counts.resize(spec.clauses.size());
  arm.spec = std::move(spec);
  arms_.emplace(++last_, std::move(arm));
  open_.store(arms_.size(), std::memory_order_relaxed);
  return last_;
}

std::optional<std::uint64_t> Arms::close(long token) {
  const Locked lock(mutex_);
  const auto found = arms_.find(token);
  if (found == arms_.end()) return std::nullopt;
  const std::uint64_t failures = found->second.failures;
  arms_.erase(found);
  open_.store(arms_.size(), std::memory_order_relaxed);
  return failures;
}

std::optional<std::string> Arms::report(long token) {
  const Locked lock(mutex_);
  const auto found = arms_.find(token);
  if (found == arms_.end()) return std::nullopt;
  const Arm& arm = found->second;
  std::string out = "{";
  add_number(out, "calls", arm.calls);
  add_number(out, "failures", arm.failures);
  add_key(out, "failed");
  out += '[';
  for (const Failed& one : arm.failed) {
    out += out.back() == '[' ? "{" : ",{";
    add_text(out, "call", name(one.entry));
    add_number(out, "number", one.number);
    add_text(out, "result", result_name(one.code));
    out += '}';
  }
  return out + "]}";
}

std::optional<CUresult> Arms::answer(EntryPoint entry, const injected_failures::CallFacts& facts,
                                     const Caller& caller) {
  bool wanted = false;
  {
    const Locked lock(mutex_);
    for (const auto& [token, arm] : arms_) {
      for (const injected_failures::Clause& clause : arm.spec.clauses) {
        wanted = wanted || (asks_for_stack(clause) && clause.names(entry));
      }
    }
  }
  const StackId stack = wanted ? capture_stack(caller) : StackId{};
  std::optional<CUresult> code;
  const Locked lock(mutex_);
  for (auto& [token, arm] : arms_) {
    const bool counts = !gives_up(entry) && usual_failure(entry);
    if (counts) ++arm.calls;
    const auto struck = strike(arm, entry, facts, stack);
    if (!struck || code) continue;
    code = struck;
    ++arm.failures;
    if (arm.failed.size() < kMostArms) arm.failed.push_back({entry, arm.calls, *code});
  }
  return code;
}

std::optional<CUresult> Arms::strike(Arm& arm, EntryPoint entry,
                                     const injected_failures::CallFacts& facts, StackId stack) {
  std::optional<CUresult> code;
  for (std::size_t i = 0; i < arm.spec.clauses.size(); ++i) {
    const injected_failures::Clause& clause = arm.spec.clauses[i];
    if (!clause.names(entry) || !clause.answer(entry) || !clause.fits(facts)) continue;
    if (clause.site && *clause.site != site_number(entry, stack)) continue;
    if (clause.asks_for_frames() && !frames_match(clause, stack)) continue;
    if (!clause.strikes(++arm.counts[i])) continue;
    if (!code) code = clause.answer(entry);
  }
  return code;
}

}  // namespace cuvmm::shim
