// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/ledger.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <ctime>
#include <mutex>
#include <new>

#include "frames/runtime_frames.h"
#include "frames/source_line.h"
#include "shim/base/own_stack.h"
#include "shim/findings/finding_members.h"
#include "shim/nvtx/ranges.h"
#include "shim/stack/own_descriptors.h"
#include "shim/stack/python/site.h"

namespace cuvmm::shim {

namespace {

// When and where the process began. Source files that are newer may have other lines than the code
// that runs, and Python names the main program's file from that folder.
struct Beginning {
  std::int64_t time = ::time(nullptr);
  char folder[PATH_MAX] = "";
  Beginning() {
    if (!::getcwd(folder, sizeof folder)) folder[0] = '\0';
  }
};
const Beginning g_beginning;

// Adds the source lines at which the stacks of a finding are. A signal handler opens no files.
void add_source(Entry& entry) {
  if (t_state.care == Care::kAsInterrupted) return;
  with_descriptors([&]() noexcept {
    try {
      const std::string folder = g_beginning.folder;
      frames::add_source_line(entry.stack, g_beginning.time, folder);
      for (auto* const stacks : {&entry.object_stacks, &entry.ended_stacks}) {
        for (std::vector<Frame>& stack : *stacks)
          frames::add_source_line(stack, g_beginning.time, folder);
      }
    } catch (...) {
      // Out of memory: the finding is shown without some of the lines.
    }
  });
}

// Whether the function that is noted with the stack made the object. The stacks of queued and
// captured calls have no function noted.
bool is_made_by_its_call(const ObjectRef& object) {
  const std::string_view did = how(object);
  return did == "made" || did == "retained";
}

void fill(Entry& entry) {
  const Violation& violation = entry.finding.violation;
  entry.stack = symbolize(entry.finding.stack);
  if (entry.finding.runtime) {
    entry.runtime = entry.finding.runtime;
  } else {
    std::string runtime = frames::take_runtime_frames(entry.stack);
    if (entry.finding.entry != EntryPoint::kCount) entry.runtime = std::move(runtime);
  }
  entry.object_stacks.clear();
  entry.ended_stacks.clear();
  entry.made_by.clear();
  entry.ended_by.clear();
  entry.ranges = nvtx::range_texts(stack_ranges(entry.finding.stack));
  entry.object_ranges.clear();
  entry.object_memory.clear();
  for (const ObjectRef& object : violation.objects) {
    entry.object_ranges.push_back(nvtx::range_texts(stack_ranges(object.made.stack)));
    entry.object_memory.push_back(is_address(object.kind)
                                      ? nvtx::known_memory(object.value, object.size)
                                      : nvtx::KnownMemory());
    const auto describe = [](const Origin& by, std::vector<Frame>& stack, std::string& function) {
      function = frames::take_runtime_frames(stack = symbolize(by.stack));
      if (function.empty()) function = stack_function(by.stack);
    };
    describe(object.made, entry.object_stacks.emplace_back(), entry.made_by.emplace_back());
    describe(object.ended, entry.ended_stacks.emplace_back(), entry.ended_by.emplace_back());
    if (!is_made_by_its_call(object)) entry.made_by.back().clear();
  }
  add_source(entry);
  entry.json = finding_members(entry);
}

void add(Totals& totals, RuleKind kind, std::uint64_t count) {
  switch (kind) {
    case RuleKind::kError:
      totals.errors += count;
      break;
    case RuleKind::kUndefined:
      totals.undefined += count;
      break;
    case RuleKind::kLeak:
      totals.leaks += count;
      break;
    case RuleKind::kAdvice:
      totals.advice += count;
      break;
    case RuleKind::kAnswer:
      totals.answers += count;
      break;
  }
}

}  // namespace

const bool* Ledger::decision(Rule rule, StackId stack) const {
  const auto known = decisions_.find({rule, stack});
  return known == decisions_.end() ? nullptr : &known->second;
}

bool Ledger::is_suppressed(const Finding& finding) {
  if (suppressions_.empty()) return false;
  const Rule rule = finding.violation.rule;
  const char* id = info(rule).id;
  if (!suppressions_.needs_stack(id)) return suppressions_.matches(id, {});
  if (mutex_.lock_within(kDescribingPatience)) {
    const Locked lock(mutex_, kHeldAlready);
    if (const bool* known = decision(rule, finding.stack)) return *known;
  }
  prepare_symbolizer();
  bool suppressed = false;
  const auto decide = [&] { suppressed = decide_by_stack(rule, finding.stack); };
  if (!findings_stack().run(decide, kDescribingPatience)) decide();
  return suppressed;
}

bool Ledger::decide_by_stack(Rule rule, StackId stack) {
  // Another thread may have decided while this thread waited for the lock.
  if (mutex_.lock_within(kDescribingPatience)) {
    const Locked lock(mutex_, kHeldAlready);
    if (const bool* known = decision(rule, stack)) return *known;
  }
  const bool suppressed = suppressions_.matches(info(rule).id, symbolize(stack));
  if (mutex_.lock_within(kDescribingPatience)) {
    const Locked lock(mutex_, kHeldAlready);
    decisions_.emplace(std::pair(rule, stack), suppressed);
  }
  return suppressed;
}

Entry* Ledger::fold(const Key& key, std::uint64_t count) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return nullptr;
  known->second->count.fetch_add(count, std::memory_order_relaxed);
  return known->second;
}

void Ledger::wait(Entry* entry, std::uint64_t purpose) {
  const auto same = std::ranges::find_if(
      probes_, [&](const Probe& p) { return p.entry == entry && p.purpose == purpose; });
  if (same != probes_.end()) {
    ++same->count;
  } else if (probes_.size() < kMostProbes) {
    probes_.push_back({entry, purpose, 1});
    probing_.store(true, std::memory_order_relaxed);
  }
}

bool Ledger::fell_back(EntryPoint entry, Refusal::Purpose purpose) {
  if (refusals_.waits(entry)) refusals_.got(entry, purpose);
  if (!probing_.load(std::memory_order_relaxed)) return refusals_.wait();
  if (!mutex_.lock_within(kDescribingPatience)) return true;
  const Locked lock(mutex_, kHeldAlready);
  std::erase_if(probes_, [&](const Probe& probe) {
    if (probe.entry->finding.entry != entry || probe.purpose != purpose.what) return false;
    probe.entry->handled.fetch_add(probe.count, std::memory_order_relaxed);
    return true;
  });
  probing_.store(!probes_.empty(), std::memory_order_relaxed);
  return !probes_.empty() || refusals_.wait();
}

bool Ledger::advised(Rule rule) const {
  return std::ranges::any_of(entries_, [&](const auto& known) {
    return std::get<Rule>(known.first) == rule && !known.second->quiet;
  });
}

void Ledger::append(Entry* entry) {
  std::atomic<Entry*>* end = last_ ? &last_->next : &first_;
  while (Entry* const next = end->load(std::memory_order_acquire)) end = &next->next;
  end->store(entry, std::memory_order_release);
  last_ = entry;
}

Ledger::Key Ledger::key_for_new(const Key& key, std::uintptr_t site) {
  if (std::get<kSite>(key) == site) return key;
  Key of_site = key;
  std::get<kSite>(of_site) = site;
  unsigned& lines = lines_[of_site];
  if (lines == kMostLines) return of_site;
  ++lines;
  return key;
}

Entry* Ledger::add(Key key, Finding finding) {
  const bool locked = mutex_.lock_within(kDescribingPatience);
  std::unique_lock<OwnedMutex> lock;
  if (locked) lock = std::unique_lock(mutex_, std::adopt_lock);
  // A thread that a signal interrupted under this lock keeps the other threads out; the table may
  // be half changed, but the list is whole.
  if (!locked && !mutex_.held_here()) {
    lost_[static_cast<std::size_t>(finding.kind())].fetch_add(finding.violation.count,
                                                              std::memory_order_relaxed);
    return nullptr;
  }
  const bool probe = finding.probe();
  const std::uint64_t purpose = finding.purpose, period = finding.period;
  Entry* known = locked ? fold(key, finding.violation.count) : nullptr;
  if (locked && !known) {
    const Key filed = key_for_new(key, call_site(finding.stack));
    if (filed != key) known = fold(key = filed, finding.violation.count);
  }
  if (known) {
    if (known->period.load(std::memory_order_relaxed) < period) known->period.store(period);
    if (probe) wait(known, purpose);
    return nullptr;
  }
  auto* entry = new Entry();
  entry->finding = std::move(finding);
  entry->count.store(entry->finding.violation.count);
  entry->period.store(period);
  const RuleKind kind = entry->finding.kind();
  entry->quiet = entry->finding.quiet || (!verbose_ && (kind == RuleKind::kAnswer || probe ||
                                                        (locked && kind == RuleKind::kAdvice &&
                                                         advised(entry->finding.violation.rule))));
  if (locked) entries_.emplace(key, entry);
  if (locked && probe) wait(entry, purpose);
  append(entry);
  entries_known_.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

void Ledger::take(Finding finding) {
  if ((labeller_ && labeller_->left_out(finding)) || is_suppressed(finding)) {
    suppressed_.fetch_add(finding.violation.count, std::memory_order_relaxed);
    return;
  }
  if (labeller_) {
    const std::uint64_t expected = labeller_->take_expected(finding);
    if (expected >= finding.violation.count) return;
    finding.violation.count -= expected;
    labeller_->label(finding);
  }
  const std::uint64_t period =
      entries_known_.load(std::memory_order_relaxed) < kMostApart ? finding.period : 0;
  const Key key(finding.violation.rule, finding.kind(), finding.entry,
                folding_site(finding.stack) ^ finding.place, period);
  Entry* const entry = add(key, std::move(finding));
  if (!entry) return;
  prepare_symbolizer();
  const auto work = [&] { describe(*entry); };
  if (!findings_stack().run(work, kDescribingPatience)) describe(*entry);
}

void Ledger::describe(Entry& entry) {
  auto fresh = Entry::State::kNew;
  if (!entry.state.compare_exchange_strong(fresh, Entry::State::kDescribing)) return;
  fill(entry);
  entry.state.store(Entry::State::kReady, std::memory_order_release);
  if (!held_.load()) announce(entry);
}

void Ledger::announce(Entry& entry) {
  if (!entry.announced.exchange(true)) announce_(entry);
}

void Ledger::describe_rest() {
  for (Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next.load()) {
    describe(*entry);
  }
}

void Ledger::announce_rest(bool again) {
  for (Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next.load()) {
    // Claims the announcement first, because the thread that described the entry may be about to
    // announce it.
    if (!entry->ready() || entry->announced.exchange(true)) continue;
    if (again) fill(*entry);
    announce_(*entry);
  }
}

Totals Ledger::totals() const {
  Totals totals;
  for (const Entry* entry = first(); entry; entry = entry->next.load(std::memory_order_acquire)) {
    if (!entry->ready()) continue;
    cuvmm::shim::add(totals, entry->finding.kind(), entry->count.load(std::memory_order_relaxed));
  }
  for (std::size_t kind = 0; kind < lost_.size(); ++kind) {
    const std::uint64_t count = lost_[kind].load(std::memory_order_relaxed);
    cuvmm::shim::add(totals, static_cast<RuleKind>(kind), count);
  }
  return totals;
}

std::uint64_t Ledger::lost() const {
  std::uint64_t all = 0;
  for (const auto& count : lost_) all += count.load(std::memory_order_relaxed);
  return all;
}

std::uint64_t Ledger::count_since(std::uint64_t period, const Rule* rule) const {
  std::uint64_t count = 0;
  for (const Entry* entry = first(); entry; entry = entry->next.load(std::memory_order_acquire)) {
    if (entry->period.load(std::memory_order_relaxed) < period) continue;
    const RuleKind kind = entry->finding.kind();
    const bool counts = rule ? entry->finding.violation.rule == *rule
                             : kind != RuleKind::kAdvice && kind != RuleKind::kAnswer;
    if (counts) count += entry->count.load(std::memory_order_relaxed);
  }
  return count;
}

void Ledger::clear(bool whole) {
  first_.store(nullptr);
  entries_known_.store(0);
  last_ = nullptr;
  suppressed_.store(0);
  for (auto& count : lost_) count.store(0);
  held_.store(false);
  probing_.store(false);
  refusals_.clear(whole);
  if (whole) {
    entries_.clear();
    probes_.clear();
    lines_.clear();
    decisions_.clear();
  } else {
    // The tables' nodes may point anywhere, so the child abandons the tables.
    new (&entries_) decltype(entries_)();
    new (&probes_) decltype(probes_)();
    new (&lines_) decltype(lines_)();
    new (&decisions_) decltype(decisions_)();
  }
}

}  // namespace cuvmm::shim
