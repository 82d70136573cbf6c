// SPDX-License-Identifier: Apache-2.0
// Makes calls fail on purpose (CUVMM_FAIL), and counts the calls of each place (CUVMM_FAIL_LOG):
// docs/testing/fail.md. A call that is made to fail goes neither to the session nor to the driver,
// so that the state is as after a refusal.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "injected_failures/spec.h"
#include "shim/base/owned_mutex.h"
#include "shim/fail/arms.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// A place from which the program called a function.
struct FallibleSite {
  EntryPoint entry = EntryPoint::kCount;
  StackId stack = 0;
  std::uint64_t number = 0;  ///< site_number()
  std::uint64_t calls = 0;
  std::vector<bool> frames_match;  ///< for each clause with a condition about frames; else empty
};

/// A call that was made to fail.
struct Injected {
  EntryPoint entry = EntryPoint::kCount;
  StackId stack = 0;
  std::uint64_t site = 0;
  std::uint64_t count = 0;  ///< the call's number at its site
  CUresult code = CUDA_SUCCESS;
};

class Injector {
 public:
  /// `log` is the path of the log, "" for none.
  Injector(injected_failures::Spec spec, std::string log);
  bool logs() const { return !log_.empty(); }
  const std::string& log() const { return log_; }

  /// The injected answer to the call; nullopt if the call is to be made. Thread-safe. Preserves
  /// errno.
  std::optional<CUresult> answer(EntryPoint entry, const injected_failures::CallFacts& facts,
                                 const Caller& caller) noexcept;

  /// The sites and injections so far. nullopt if another thread holds the lock for long.
  struct Seen {
    std::vector<FallibleSite> sites;
    std::vector<Injected> injected;  ///< the first injections
    std::uint64_t injections = 0;
    std::uint64_t calls_after = 0;  ///< calls after the first injection
  };
  std::optional<Seen> seen() noexcept;
  /// The specifications that the program itself requests.
  Arms& arms() { return arms_; }
  /// Whether it makes any call fail, or only counts.
  bool injects() const { return !spec_.clauses.empty(); }

 private:
  std::optional<CUresult> answer_now(EntryPoint entry, const injected_failures::CallFacts& facts,
                                     const Caller& caller);
  FallibleSite& site(EntryPoint entry, StackId stack) CUVMM_NEEDS(mutex_);
  std::optional<CUresult> first_to_strike(EntryPoint entry,
                                          const injected_failures::CallFacts& facts,
                                          const FallibleSite& site) CUVMM_NEEDS(mutex_);

  const injected_failures::Spec spec_;
  const std::string log_;
  std::bitset<static_cast<std::size_t>(EntryPoint::kCount)> named_;
  Arms arms_;
  OwnedMutex mutex_;
  std::map<std::pair<EntryPoint, StackId>, FallibleSite> sites_ CUVMM_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> counts_ CUVMM_GUARDED_BY(mutex_);  ///< by clause: the number of calls
                                                                ///< that the clause applies to
  std::vector<Injected> injected_ CUVMM_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> injections_{0}, calls_after_{0};
};

}  // namespace cuvmm::shim
