// SPDX-License-Identifier: Apache-2.0
// Every distinct refusal of the process, with its exact count.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "shim/base/owned_mutex.h"
#include "shim/findings/refusal_entry.h"

namespace cuvmm::shim {

/// Folds repeats by entry point, result and call site; a result of work that failed earlier is one
/// refusal, however many calls return it. Thread-safe.
class Refusals {
 public:
  /// Counts a refusal that is known already. Returns false if no such refusal was counted before:
  /// then take() needs all facts.
  bool fold(EntryPoint entry, CUresult result, bool late, StackId stack, Refusal::Purpose purpose);
  void take(Refusal refusal, std::uint64_t count = 1, bool quiet = false);
  /// Whether a refused call of this entry point waits for a call that gets the memory which it
  /// wanted.
  bool waits(EntryPoint entry) const {
    return waiting_[static_cast<std::size_t>(entry)].load(std::memory_order_relaxed) != 0;
  }
  /// Whether a refused call of any entry point waits.
  bool wait() const { return all_waiting_.load(std::memory_order_relaxed) != 0; }
  /// A call succeeded: settles the refusals that wanted its memory.
  void got(EntryPoint entry, Refusal::Purpose purpose);

  /// The process ended with an error: shows the refusals whose cause is a fork, also the quiet
  /// ones.
  void show_forked();

  /// The first refusal, or null; follow `next`; only entries that are `ready` are whole. Safe while
  /// other threads add refusals, and in signal handlers.
  const RefusalEntry* first() const { return first_.load(std::memory_order_acquire); }

  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_UNCHECKED { mutex_.lock(); }
  void unlock_after_fork() CUVMM_UNCHECKED { mutex_.unlock(); }
  /// Called only in a child of fork, which has one thread. Abandons the tables unless they are
  /// `whole`.
  void clear(bool whole) CUVMM_UNCHECKED;

 private:
  using Key = std::tuple<EntryPoint, CUresult, std::uintptr_t>;
  struct Waiting {
    RefusalEntry* entry;
    Refusal::Purpose purpose;
    std::uint64_t count;
  };
  static constexpr std::size_t kMost = 512;  // distinct refusals; further ones are not described
  static constexpr std::size_t kMostWaiting = 256;

  static Key key_of(EntryPoint entry, CUresult result, bool late, StackId stack);
  static Key key_of(const Refusal& refusal);
  void add_purpose(RefusalEntry* entry, Refusal::Purpose purpose) CUVMM_NEEDS(mutex_);
  void describe(RefusalEntry& entry);

  std::atomic<RefusalEntry*> first_{nullptr};
  std::array<std::atomic<std::uint32_t>, static_cast<std::size_t>(EntryPoint::kCount)> waiting_{};

  std::atomic<std::uint32_t> all_waiting_{0};

  OwnedMutex mutex_;
  RefusalEntry* last_ CUVMM_GUARDED_BY(mutex_) = nullptr;
  std::map<Key, RefusalEntry*> entries_ CUVMM_GUARDED_BY(mutex_);
  std::vector<Waiting> purposes_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
