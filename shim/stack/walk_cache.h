// SPDX-License-Identifier: Apache-2.0
// The stacks that a thread has unwound before, which it recognises without unwinding again.
#pragma once

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/base/caller.h"
#include "shim/nvtx/memory.h"
#include "shim/stack/known_stack.h"
#include "shim/stack/python/walk.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

// The result of unwinding a stack: each return address and its slot on the stack.
struct Walk {
  std::uint32_t count;  ///< of places
  bool repeatable;      ///< the slot of every address was found
  struct Place {
    std::uintptr_t address;
    const std::uintptr_t* slot;
  } places[kMaxFrames];

  void start(const Caller& caller) {
    places[0] = {caller.return_address, caller.slot};
    count = 1;
  }
};

inline void signal_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// The frames of a walk without the first. If these slots, from the innermost outwards, hold these
// addresses again, the stack is equal: equal code at an equal stack pointer has its caller's return
// address in the same slot. This needs no unwinding. Only walks inside the thread's own stack are
// stored (OwnRange), so that every slot can be read again: a fiber's stack may have been freed.
struct alignas(64) KnownWalk {
  static constexpr unsigned kShift = 48;  // the upper bits hold the slot's distance from the slot
                                          // before, in words

  StackId id;
  std::uint32_t count;
  std::uint64_t frames[kMaxFrames - 1];  ///< address and distance in one word, to use few cache
                                         ///< lines

  // Variables of other frames may lie now in the slots of frames that have returned.
  [[gnu::no_sanitize_address]] bool matches(const std::uintptr_t* slot) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      slot += frames[i] >> kShift;
      const std::uint64_t address = frames[i] & ((std::uint64_t{1} << kShift) - 1);
      if (*static_cast<const volatile std::uintptr_t*>(slot) != address) return false;
    }
    return true;
  }
  /// False if the walk cannot be recognised again; then this object must not be used.
  bool keep(const Walk& walk) {
    for (std::uint32_t i = 1; i < walk.count; ++i) {
      const std::uint64_t address = walk.places[i].address;
      const std::ptrdiff_t distance = walk.places[i].slot - walk.places[i - 1].slot;
      if (address >> kShift != 0 || distance <= 0 || distance >> (64 - kShift) != 0) return false;
      frames[i - 1] = address | static_cast<std::uint64_t>(distance) << kShift;
    }
    count = walk.count - 1;
    return true;
  }
};

// The range of the calling thread's own stack, which exists as long as the thread.
struct OwnRange {
  std::uintptr_t low, high;

  static OwnRange of_this_thread() {
    if (::gettid() == ::getpid()) {
      // The kernel puts these bytes above the first frame, and maps no other memory near the stack.
      constexpr std::uintptr_t kReach = std::uintptr_t{64} << 20;
      const std::uintptr_t top = ::getauxval(AT_RANDOM);
      return {top > kReach ? top - kReach : top, top};
    }
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {0, 0};
    void* low = nullptr;
    std::size_t size = 0;
    const bool known = ::pthread_attr_getstack(&attributes, &low, &size) == 0;
    ::pthread_attr_destroy(&attributes);
    const auto start = reinterpret_cast<std::uintptr_t>(low);
    return known ? OwnRange{start, start + size} : OwnRange{0, 0};
  }
  bool holds(const Walk& walk) const {
    const auto first = reinterpret_cast<std::uintptr_t>(walk.places[0].slot);
    const auto last = reinterpret_cast<std::uintptr_t>(walk.places[walk.count - 1].slot);
    return low <= first && first <= last && last < high;
  }
};

/// The known stacks of one thread: made at its first capture and freed with the thread. Sets of a
/// few walks each: two calls of one loop must not evict each other, whatever their addresses are,
/// and a place that is reached by several paths needs several walks.
struct WalkCache {
  static constexpr std::size_t kSets = 32;
  static constexpr std::size_t kWays = 4;

  OwnRange range;
  struct Set {
    Caller callers[kWays];  ///< one cache line; return address 0: the way is empty
    KnownWalk walks[kWays];
    unsigned oldest;

    // A signal handler may come between any two of these statements, and store walks here itself.
    void keep(const Caller& caller, const Walk& walk, StackId id) {
      const unsigned turn = oldest;
      oldest = turn + 1;
      const unsigned way = turn % kWays;
      callers[way] = {};
      signal_fence();
      const bool stored = walks[way].keep(walk);
      walks[way].id = id;
      signal_fence();
      if (stored) callers[way] = caller;
      signal_fence();
      if (oldest != turn + 1) callers[way] = {};  // this may be a mixture of two walks
    }
  };
  Set sets[kSets];

  /// Stacks with a Python part, by a key of that part and the native stack.
  static constexpr std::size_t kPythonKept = 128;
  /// Stacks with ranges, by a key of the stack and the ranges.
  static constexpr std::size_t kRangesKept = 64;
  KnownStack ranges[kRangesKept];
  KnownStack python[kPythonKept];
  GuardedMemory python_memory;
  KnownCodes python_codes;

  Set& set_of(const Caller& caller) {
    const auto slot = reinterpret_cast<std::uintptr_t>(caller.slot);
    return sets[((caller.return_address ^ slot) * 0x9e3779b97f4a7c15u) >> 59];
  }
  static_assert(kSets == 32);
};

}  // namespace cuvmm::shim
