// SPDX-License-Identifier: Apache-2.0
// Every distinct finding of the process, with its exact count.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "shim/base/owned_mutex.h"
#include "shim/findings/entry.h"
#include "shim/findings/finding.h"
#include "shim/findings/refusals.h"
#include "shim/findings/suppressions.h"

namespace cuvmm::shim {

/// Occurrences by kind, folded repeats included.
struct Totals {
  std::uint64_t errors = 0;
  std::uint64_t undefined = 0;
  std::uint64_t leaks = 0;
  std::uint64_t advice = 0;
  std::uint64_t answers = 0;
  bool any() const { return errors || undefined || leaks; }
};

/// Folds repeats per rule, kind, entry point and call site (the innermost frame outside the shim).
/// Thread-safe; no thread holds its lock while it may take the loader's. One thread describes a new
/// finding, on findings_stack(); another thread with the same finding counts it and goes on.
class Ledger : public FindingSink {
 public:
  /// The ledger calls `announce` once for each distinct finding, without a lock; for quiet findings
  /// too. `verbose`: no finding is quiet. `labeller`, if any, outlives the ledger.
  Ledger(Suppressions suppressions, std::function<void(const Entry&)> announce,
         bool verbose = false, Labeller* labeller = nullptr)
      : suppressions_(std::move(suppressions)),
        announce_(std::move(announce)),
        labeller_(labeller),
        verbose_(verbose) {}

  void take(Finding finding) override;
  bool fold_refusal(EntryPoint entry, CUresult result, bool late, StackId stack,
                    Refusal::Purpose purpose) override {
    return refusals_.fold(entry, result, late, stack, purpose);
  }
  void take_refusal(const Refusal& refusal) override { refusals_.take(refusal); }
  bool waits(EntryPoint entry) const override {
    return probing_.load(std::memory_order_relaxed) || refusals_.waits(entry);
  }
  bool fell_back(EntryPoint entry, Refusal::Purpose purpose) override;

  /// Takes the refusal of a function that is not checked.
  void take_unchecked(Refusal refusal, std::uint64_t count, bool quiet) {
    refusals_.take(std::move(refusal), count, quiet);
  }
  /// Refusals::show_forked().
  void show_forked() { refusals_.show_forked(); }
  /// The refusals that no finding explains.
  const Refusals& refusals() const { return refusals_; }

  /// From here on the ledger describes findings but does not announce them: announce_rest() does
  /// it.
  void hold_announcements() { held_.store(true); }
  /// Describes the findings that their own thread did not describe yet, as far as the calling
  /// thread may (symbolize()). Async-signal-safe for a thread with Care::kAsInterrupted.
  void describe_rest();
  /// Announces the findings that hold_announcements() held back; `again`: describes each of them
  /// once more first, with more symbols.
  void announce_rest(bool again);

  /// The first finding, or null; follow `next`; only entries that are ready() are whole. Safe while
  /// other threads add findings, and in signal handlers.
  const Entry* first() const { return first_.load(std::memory_order_acquire); }
  Totals totals() const;
  /// Occurrences in this period or later: of this rule, or, if `rule` is null, of all errors,
  /// undefined behaviour and leaks.
  std::uint64_t count_since(std::uint64_t period, const Rule* rule) const;
  const Suppressions& suppressions() const { return suppressions_; }
  /// Occurrences that only the totals count, because another thread held the lock while they came.
  std::uint64_t lost() const;
  std::uint64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

  /// Called around fork. False if a signal handler that forks interrupted this thread inside of the
  /// ledger.
  bool lock_for_fork() CUVMM_UNCHECKED {
    if (mutex_.held_here() || refusals_.held_here()) return false;
    mutex_.lock();
    refusals_.lock_for_fork();
    return true;
  }
  void unlock_after_fork() CUVMM_UNCHECKED {
    refusals_.unlock_after_fork();
    mutex_.unlock();
  }
  /// Forgets all findings. Called only in a child of fork, which has one thread. Abandons the
  /// tables unless they are `whole`.
  void clear(bool whole) CUVMM_UNCHECKED;

 private:
  /// The last member is the period, or 0 once there are kMostApart entries.
  using Key = std::tuple<Rule, RuleKind, EntryPoint, std::uintptr_t, std::uint64_t>;
  static constexpr std::size_t kSite = 3;  ///< the site's index in a key
  /// Refused calls whose advice one success settles.
  struct Probe {
    Entry* entry;
    std::uint64_t purpose;
    std::uint64_t count;
  };
  /// At one call site of a binding, so many lines of Python get findings of their own; further
  /// lines share one finding, because each finding takes time to describe and generated code has
  /// unlimited lines.
  static constexpr unsigned kMostLines = 64;
  static constexpr std::size_t kMostApart = 16384;  // beyond this many entries, findings of
                                                    // different periods are folded
  static constexpr std::size_t kMostProbes = 256;   // distinct probes that wait at one time
  bool is_suppressed(const Finding& finding);
  bool decide_by_stack(Rule rule, StackId stack);
  const bool* decision(Rule rule, StackId stack) const CUVMM_NEEDS(mutex_);
  Entry* fold(const Key& key, std::uint64_t count) CUVMM_NEEDS(mutex_);
  /// Unchecked, because a thread that a signal interrupted under the lock goes on without it.
  Entry* add(Key key, Finding finding) CUVMM_UNCHECKED;
  /// The key under which a new finding is filed.
  Key key_for_new(const Key& key, std::uintptr_t site) CUVMM_NEEDS(mutex_);
  void wait(Entry* entry, std::uint64_t purpose) CUVMM_NEEDS(mutex_);
  bool advised(Rule rule) const CUVMM_NEEDS(mutex_);
  void append(Entry* entry) CUVMM_NEEDS(mutex_);
  void describe(Entry& entry);
  void announce(Entry& entry);

  const Suppressions suppressions_;
  const std::function<void(const Entry&)> announce_;
  Labeller* const labeller_;
  const bool verbose_;
  std::atomic<std::uint64_t> suppressed_{0};
  std::array<std::atomic<std::uint64_t>, 5> lost_{};  ///< by RuleKind
  static_assert(static_cast<int>(RuleKind::kAnswer) == 4, "the last one");
  std::atomic<Entry*> first_{nullptr};
  std::atomic<std::size_t> entries_known_{0};
  std::atomic<bool> held_{false};
  std::atomic<bool> probing_{false};  ///< probes_ may have entries
  Refusals refusals_;

  OwnedMutex mutex_;
  Entry* last_ CUVMM_GUARDED_BY(mutex_) = nullptr;  ///< the list's last entry, or one shortly
                                                    ///< before it
  std::map<Key, Entry*> entries_ CUVMM_GUARDED_BY(mutex_);
  std::vector<Probe> probes_ CUVMM_GUARDED_BY(mutex_);
  /// The number of lines of Python that have entries, by the key of their call site.
  std::map<Key, unsigned> lines_ CUVMM_GUARDED_BY(mutex_);
  /// Whether a rule is suppressed by this stack.
  std::map<std::pair<Rule, StackId>, bool> decisions_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
