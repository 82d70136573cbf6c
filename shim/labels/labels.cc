// SPDX-License-Identifier: Apache-2.0
#include "shim/labels/labels.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "shim/nvtx/ranges.h"
#include "shim/output/glob.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForLabels{1000};

}  // namespace

Labels::Labels(std::string outer, std::string_view ranges) : outer_(std::move(outer)) {
  while (!ranges.empty()) {
    const std::size_t end = std::min(ranges.find(','), ranges.size());
    if (end != 0) included_.emplace_back(ranges.substr(0, end));
    ranges.remove_prefix(std::min(end + 1, ranges.size()));
  }
}

bool Labels::left_out(const Finding& finding) {
  if (included_.empty()) return false;
  const std::vector<nvtx::RangeName> open = nvtx::range_names(stack_ranges(finding.stack));
  return std::ranges::none_of(open, [&](const nvtx::RangeName& range) {
    const std::string text = range.text();
    return std::ranges::any_of(included_, [&](const std::string& pattern) {
      return glob_matches(pattern, range.name) || glob_matches(pattern, text);
    });
  });
}

std::uint64_t Labels::begin_period(std::uint64_t call) {
  used_.store(true, std::memory_order_relaxed);
  periods_.push_back(call);
  return periods_.size();
}

std::uint64_t Labels::mark(std::uint64_t call) {
  const Locked lock(mutex_);
  return begin_period(call);
}

bool Labels::moment(std::uint64_t mark, Moment& moment) {
  const Locked lock(mutex_);
  if (mark > periods_.size()) return false;
  moment.period = std::max(mark, first_period_);
  moment.call = moment.period == 0 ? 0 : periods_[moment.period - 1];
  return true;
}

// Each scope's name contains the names of the scopes around it.
void Labels::name_scopes() {
  std::string_view outer = outer_;
  Scope& last = open_.back();
  if (open_.size() > 1) outer = open_[open_.size() - 2].name;
  if (!outer.empty()) last.name = std::string(outer) + " > " + last.name;
}

std::uint64_t Labels::open_scope(std::string_view name, bool keeps, bool quiet,
                                 std::uint64_t call) {
  const Locked lock(mutex_);
  Scope scope{++tokens_, std::string(name), call, UINT64_MAX, keeps, quiet};
  if (!open_.empty()) scope.quiet = scope.quiet || open_.back().quiet;
  open_.push_back(std::move(scope));
  name_scopes();
  begin_period(call);
  return open_.back().token;
}

bool Labels::close_scope(std::uint64_t token, std::uint64_t call) {
  const Locked lock(mutex_);
  const auto found = std::ranges::find(open_, token, &Scope::token);
  if (found == open_.end()) return false;
  found->to = call;
  closed_.push_back(std::move(*found));
  open_.erase(found);
  if (closed_.size() > kMostClosed) closed_.pop_front();
  begin_period(call);
  return true;
}

std::string Labels::scope() {
  const Locked lock(mutex_);
  return open_.empty() ? outer_ : open_.back().name;
}

const Labels::Scope* Labels::scope_of(std::uint64_t call) const {
  const Scope* innermost = nullptr;
  const auto look = [&](const Scope& scope) {
    // Of two scopes with an equal begin, the one that was opened later is the inner one.
    const auto opened = [](const Scope& one) { return std::pair(one.from, one.token); };
    if (scope.holds(call) && (!innermost || opened(scope) > opened(*innermost))) {
      innermost = &scope;
    }
  };
  std::ranges::for_each(open_, look);
  std::ranges::for_each(closed_, look);
  return innermost;
}

bool Labels::in_keeping_scope(std::uint64_t call, const Moment& since) {
  const Locked lock(mutex_);
  const auto keeps = [&](const Scope& scope) {
    return scope.keeps && scope.from >= since.call && scope.holds(call);
  };
  return std::ranges::any_of(open_, keeps) || std::ranges::any_of(closed_, keeps);
}

std::uint64_t Labels::expect(std::string_view rule, std::uint64_t count) {
  const Locked lock(mutex_);
  used_.store(true, std::memory_order_relaxed);
  expectations_.push_back({++tokens_, std::string(rule), count, 0});
  expecting_.store(true, std::memory_order_release);
  return tokens_;
}

bool Labels::end_expectation(std::uint64_t token, std::uint64_t& missing) {
  const Locked lock(mutex_);
  const auto found = std::ranges::find(expectations_, token, &Expectation::token);
  if (found == expectations_.end()) return false;
  const std::uint64_t wanted = std::max<std::uint64_t>(found->wanted, 1);
  missing = wanted - std::min(wanted, found->came);
  expectations_.erase(found);
  expecting_.store(!expectations_.empty(), std::memory_order_release);
  return true;
}

// The expectation that was opened last takes first.
std::uint64_t Labels::take_expected(const Finding& finding) {
  if (!expecting_.load(std::memory_order_acquire)) return 0;
  if (finding.kind() == RuleKind::kAnswer) return 0;
  if (!mutex_.lock_within(kPatienceForLabels)) return 0;
  const Locked lock(mutex_, kHeldAlready);
  const char* const id = info(finding.violation.rule).id;
  std::uint64_t left = finding.violation.count;
  for (auto one = expectations_.rbegin(); one != expectations_.rend() && left != 0; ++one) {
    if (!glob_matches(one->rule, id)) continue;
    const std::uint64_t room = one->wanted == 0 ? left : one->wanted - one->came;
    const std::uint64_t taken = std::min(left, room);
    one->came += taken;
    left -= taken;
  }
  const std::uint64_t taken = finding.violation.count - left;
  expected_.fetch_add(taken, std::memory_order_relaxed);
  return taken;
}

void Labels::label(Finding& finding) {
  if (!used_.load(std::memory_order_relaxed) && outer_.empty() && !names_.any()) return;
  for (const ObjectRef& object : finding.violation.objects) {
    finding.names.push_back(names_.of(object));
  }
  if (!mutex_.lock_within(kPatienceForLabels)) return;
  const Locked lock(mutex_, kHeldAlready);
  finding.period = periods_.size();
  finding.scope = open_.empty() ? outer_ : open_.back().name;
  // A crash is never quiet, because the program may not live to report it.
  const bool crashed = finding.answer && finding.answer->crashed;
  finding.quiet = !open_.empty() && open_.back().quiet && !crashed;
  for (const ObjectRef& object : finding.violation.objects) {
    const Scope* const made = scope_of(object.made.call);
    finding.made_in.push_back(made ? made->name : std::string());
  }
}

Labels::Leak Labels::leak_of(const Violation& leak) {
  if (leak.objects.empty()) return {leak.rule, 0, 0};
  return {leak.rule, leak.objects.front().value, leak.objects.front().made.call};
}

bool Labels::mark_reported(const Violation& leak) {
  const Locked lock(mutex_);
  return reported_.insert(leak_of(leak)).second;
}

bool Labels::was_reported(const Violation& leak) {
  if (!mutex_.lock_within(kPatienceForLabels)) return false;
  const Locked lock(mutex_, kHeldAlready);
  return reported_.contains(leak_of(leak));
}

void Labels::reset(std::uint64_t call) {
  names_.clear();
  const Locked lock(mutex_);
  for (Scope& scope : open_) {
    scope.to = call;
    closed_.push_back(std::move(scope));
  }
  open_.clear();
  expectations_.clear();
  expecting_.store(false, std::memory_order_release);
  first_period_ = begin_period(call);
}

bool Labels::lock_for_fork() {
  if (mutex_.held_here() || !names_.lock_for_fork()) return false;
  mutex_.lock();
  return true;
}

void Labels::unlock_after_fork() {
  mutex_.unlock();
  names_.unlock_after_fork();
}

// Calls are numbered anew in the child.
void Labels::restart_in_child(bool whole) {
  names_.restart_in_child(whole);
  expected_.store(0);
  if (!whole) {
    // The tables' nodes may point anywhere, so the child abandons the tables.
    new (&periods_) decltype(periods_)();
    new (&open_) decltype(open_)();
    new (&closed_) decltype(closed_)();
    new (&expectations_) decltype(expectations_)();
    new (&reported_) decltype(reported_)();
    expecting_.store(false);
    first_period_ = 0;
    return;
  }
  for (std::uint64_t& call : periods_) call = 0;
  for (Scope& scope : open_) scope.from = 0;
  closed_.clear();
  reported_.clear();
}

}  // namespace cuvmm::shim
