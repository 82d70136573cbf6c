// SPDX-License-Identifier: Apache-2.0
// The facts that the program gives through include/cuvmm/cuvmm.h: moments, scopes, expectations,
// names.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "shim/base/owned_mutex.h"
#include "shim/findings/finding.h"
#include "shim/labels/names.h"

namespace cuvmm::shim {

/// Thread-safe. A thread never takes another lock while it holds the lock of this class.
class Labels : public Labeller {
 public:
  /// `outer`: the scope in which the process was started, "" none. `ranges`: globs, separated by
  /// commas; only findings in NVTX ranges whose name matches count. "" matches all.
  explicit Labels(std::string outer, std::string_view ranges = {});

  // --- Moments. A mark is the number of a period; each mark, and each end of a scope, begins one.
  // `call` is always the number of the last call.
  std::uint64_t mark(std::uint64_t call);
  /// The first period that counts since this mark, and the last call before it; false if the mark
  /// does not exist.
  struct Moment {
    std::uint64_t period = 0, call = 0;
  };
  bool moment(std::uint64_t mark, Moment& moment);

  // --- Scopes.
  /// Returns a token, at least 1.
  std::uint64_t open_scope(std::string_view name, bool keeps, bool quiet, std::uint64_t call);
  /// False if the scope is not open.
  bool close_scope(std::uint64_t scope, std::uint64_t call);
  /// The open scopes as "outer > inner"; "" if none is open.
  std::string scope();
  /// Whether this call was made in a scope with `keeps`, which began after the moment.
  bool in_keeping_scope(std::uint64_t call, const Moment& since);

  // --- Expectations.
  /// `count` 0: any number. Returns a token, at least 1.
  std::uint64_t expect(std::string_view rule, std::uint64_t count);
  /// `missing`: the number of expected findings that did not come. False if the expectation is not
  /// open.
  bool end_expectation(std::uint64_t token, std::uint64_t& missing);
  std::uint64_t expected() const { return expected_.load(std::memory_order_relaxed); }

  // --- Leaks that were reported before the end: each is reported once.
  /// Returns false if the leak was reported before.
  bool mark_reported(const Violation& leak);
  bool was_reported(const Violation& leak);

  Names& names() { return names_; }
  void reset(std::uint64_t call);

  // --- Labeller
  bool left_out(const Finding& finding) override;
  std::uint64_t take_expected(const Finding& finding) override;
  void label(Finding& finding) override;

  /// Called around fork: the child has the parent's scopes and expectations, and forgets names and
  /// calls.
  bool lock_for_fork() CUVMM_UNCHECKED;
  void unlock_after_fork() CUVMM_UNCHECKED;
  void restart_in_child(bool whole) CUVMM_UNCHECKED;

 private:
  struct Scope {
    std::uint64_t token = 0;
    std::string name;  ///< with the names of the scopes around it
    std::uint64_t from = 0;
    std::uint64_t to = UINT64_MAX;  ///< the last call in it
    bool keeps = false, quiet = false;
    bool holds(std::uint64_t call) const { return from < call && call <= to; }
  };
  struct Expectation {
    std::uint64_t token = 0;
    std::string rule;
    std::uint64_t wanted = 0, came = 0;  ///< wanted 0: any number
  };
  using Leak = std::tuple<Rule, std::uint64_t, std::uint64_t>;
  static constexpr std::size_t kMostClosed = 16384;
  static Leak leak_of(const Violation& leak);

  std::uint64_t begin_period(std::uint64_t call) CUVMM_NEEDS(mutex_);
  void name_scopes() CUVMM_NEEDS(mutex_);
  /// The innermost scope in which the call was made, or null.
  const Scope* scope_of(std::uint64_t call) const CUVMM_NEEDS(mutex_);

  const std::string outer_;
  std::vector<std::string> included_;  ///< globs for names of ranges; none: all ranges
  std::atomic<bool> used_{false};      ///< whether the program has given any fact; else look-ups
                                       ///< return at once
  std::atomic<std::uint64_t> expected_{0};
  std::atomic<bool> expecting_{false};
  Names names_;

  OwnedMutex mutex_;
  std::uint64_t tokens_ CUVMM_GUARDED_BY(mutex_) = 0;
  std::uint64_t first_period_ CUVMM_GUARDED_BY(mutex_) = 0;      ///< the period of mark 0
  std::vector<std::uint64_t> periods_ CUVMM_GUARDED_BY(mutex_);  ///< the last call before each
                                                                 ///< period
  std::vector<Scope> open_ CUVMM_GUARDED_BY(mutex_);
  std::deque<Scope> closed_ CUVMM_GUARDED_BY(mutex_);
  std::vector<Expectation> expectations_ CUVMM_GUARDED_BY(mutex_);
  std::set<Leak> reported_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
