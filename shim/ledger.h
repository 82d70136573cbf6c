// Every distinct finding of the process, with its exact count.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "shim/finding.h"
#include "shim/suppressions.h"
#include "shim/symbolizer.h"

namespace cuvmm::shim {

/// A finding with its addresses made readable, and how often it came. Never destroyed.
struct Entry {
  Finding finding;
  std::vector<Frame> stack;
  std::vector<std::vector<Frame>>
      object_stacks;                             ///< one per finding.violation.objects: who made it
  std::vector<std::vector<Frame>> ended_stacks;  ///< who ended it; empty for what lives
  std::string json;  ///< the finding's members but "count", ready for a signal handler to write
  std::atomic<std::uint64_t> count{1};
  std::atomic<Entry*> next{nullptr};
};

/// Occurrences by kind, folded repeats included.
struct Totals {
  std::uint64_t errors = 0;
  std::uint64_t undefined = 0;
  std::uint64_t leaks = 0;
  std::uint64_t advice = 0;
  bool any() const { return errors || undefined || leaks; }
};

/// Folds repeats per rule, entry point and call site (the innermost frame outside the shim).
/// Thread-safe; its lock is never held while the loader's may be taken.
class Ledger : public FindingSink {
 public:
  /// `announce` is called once per distinct finding, without a lock.
  Ledger(Suppressions suppressions, std::function<void(const Entry&)> announce)
      : suppressions_(std::move(suppressions)), announce_(std::move(announce)) {}

  void take(Finding finding) override;

  /// The first finding, or null; follow `next`. Safe while findings come in, and in signal
  /// handlers.
  const Entry* first() const { return first_.load(std::memory_order_acquire); }
  Totals totals() const;
  std::uint64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  /// Forgets everything. Only in a child of fork, which has one thread.
  void clear();

 private:
  using Key = std::tuple<Rule, EntryPoint, std::uintptr_t>;
  bool suppressed_by_stack(const Finding& finding);
  bool fold(const Key& key);

  const Suppressions suppressions_;
  const std::function<void(const Entry&)> announce_;
  std::atomic<std::uint64_t> suppressed_{0};
  std::atomic<Entry*> first_{nullptr};

  std::mutex mutex_;  ///< guards what follows
  Entry* last_ = nullptr;
  std::map<Key, Entry*> entries_;
  std::map<std::pair<Rule, StackId>, bool> decisions_;  ///< suppressed by this stack?
};

}  // namespace cuvmm::shim
