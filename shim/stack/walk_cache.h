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
#include "shim/stack/stack_id.h"

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

// The frames of a walk without the first. If these slots, from the innermost outwards, hold the
// same addresses again, the stack is equal: equal code at an equal stack pointer has its caller's
// return address in the same slot. This needs no unwinding. Only walks inside the thread's own
// stack are stored (OwnRange), so that every slot can be read again: a fiber's stack may have been
// freed.
//
// Of the addresses only a sum is kept, so that a deep stack takes two cache lines instead of seven.
// Stacks that differ in one address have different sums; a chance of 2^-64 is left for others.
struct alignas(64) KnownWalk {
  /// The function that a call from this stack names, for a stack that several functions share.
  static constexpr std::uint64_t kSeveral = 0xffff;
  static constexpr unsigned kFunctionShift = 48;

  /// The stack's id, then 16 bits number of frames, then 16 bits of the function that its innermost
  /// frame called (FunctionTag). One word, so that a signal handler changes all of it or nothing.
  std::uint64_t head;
  std::uint64_t sum;                        ///< of the addresses
  std::uint16_t distances[kMaxFrames - 1];  ///< of each slot from the one before, in words

  // Variables of other frames may lie now in the slots of frames that have returned.
  [[gnu::no_sanitize_address]] bool matches(std::uint64_t of, const std::uintptr_t* slot) const {
    const std::uint16_t* at = distances;
    const std::uint16_t* const end = at + (of >> 32 & 0xffff);
    std::uint64_t found = 0;
    for (; at != end; ++at) {
      slot += *at;
      found = with(found, *static_cast<const volatile std::uintptr_t*>(slot));
    }
    return found == sum;
  }
  /// False if the walk cannot be recognised again; then this object must not be used.
  bool keep(const Walk& walk, StackId id) {
    sum = 0;
    for (std::uint32_t i = 1; i < walk.count; ++i) {
      const std::ptrdiff_t distance = walk.places[i].slot - walk.places[i - 1].slot;
      if (distance <= 0 || distance > 0xffff) return false;
      distances[i - 1] = static_cast<std::uint16_t>(distance);
      sum = with(sum, walk.places[i].address);
    }
    head = id | std::uint64_t{walk.count - 1} << 32;
    return true;
  }
  /// The walk with the head `of` is known to call this function from here on.
  void note(std::uint64_t of, std::uint64_t function) {
    const std::uint64_t noted =
        (of & ~(std::uint64_t{0xffff} << kFunctionShift)) | function << kFunctionShift;
    // A signal handler may have stored another walk here.
    __atomic_compare_exchange_n(&head, &of, noted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }

 private:
  static std::uint64_t with(std::uint64_t sum, std::uint64_t address) {
    return sum * 0x9e3779b97f4a7c15u + address;
  }
};
static_assert(sizeof(KnownWalk) == 128);

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

    /// Whether the way has the stack outwards from `caller`; `head` gets the walk's head.
    [[gnu::always_inline]] bool holds(std::size_t way, const Caller& caller, std::uint64_t& head) {
      if (callers[way].return_address != caller.return_address || callers[way].slot != caller.slot)
        return false;
      // Read before the frames: if a signal handler stores another walk here meanwhile, that walk's
      // frames are not on this stack.
      head = __atomic_load_n(&walks[way].head, __ATOMIC_RELAXED);
      signal_fence();
      return walks[way].matches(head, caller.slot);
    }
    // A signal handler may come between any two of these statements, and store walks here itself.
    void keep(const Caller& caller, const Walk& walk, StackId id) {
      const unsigned turn = oldest;
      oldest = turn + 1;
      const unsigned way = turn % kWays;
      callers[way] = {};
      signal_fence();
      const bool stored = walks[way].keep(walk, id);
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

  /// The known walk of the stack outwards from `caller`, with its head as it was read; or null.
  [[gnu::always_inline]] KnownWalk* find(const Caller& caller, std::uint64_t& head) {
    Set& set = set_of(caller);
    for (std::size_t way = 0; way < kWays; ++way) {
      if (set.holds(way, caller, head)) return &set.walks[way];
    }
    return nullptr;
  }
  Set& set_of(const Caller& caller) {
    const auto slot = reinterpret_cast<std::uintptr_t>(caller.slot);
    return sets[((caller.return_address ^ slot) * 0x9e3779b97f4a7c15u) >> 59];
  }
  static_assert(kSets == 32);
};

}  // namespace cuvmm::shim
