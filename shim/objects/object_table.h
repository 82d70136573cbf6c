// SPDX-License-Identifier: Apache-2.0
// What the program made that is no memory: streams, events, contexts, code, graphs. At the end it
// is said which are left; which have ended is known to calls that name one (shim/objects/ended.h).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "rulebook/memory/check_ended.h"
#include "shim/base/owned_mutex.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct PlainObject {
  enum class Kind : std::uint8_t {
    kStream,
    kEvent,
    kContext,
    kGreenContext,
    kRetain,  ///< of a primary context; `value` is the device
    kModule,
    kLibrary,
    kGraph,
    kExecutableGraph,
    // Parts of a module or a library; only their ends are kept.
    kFunction,
    kGlobal,  ///< its handle is its address
    kCount
  };
  Kind kind = Kind::kStream;
  std::uint64_t value = 0;    ///< its handle
  std::uint64_t context = 0;  ///< current when it was made, 0 none
  int device = -1;            ///< of that context where it is a primary one; -1: it is none
  StackId made = 0;

  /// Whether the driver destroys it with the context that it was made in.
  bool ends_with_context() const {
    return kind == Kind::kStream || kind == Kind::kEvent || kind == Kind::kModule;
  }
};
/// "stream", "executable graph", "retain of a primary context", ...
const char* words(PlainObject::Kind kind);

/// How many handles that have ended fall into each slot: most calls name none, and learn it from
/// one load. Apart from the table, so that nothing is called for it.
class EndedFilter {
 public:
  bool may_hold(std::uint64_t value) const noexcept {
    return slots_[slot(value)].load(std::memory_order_relaxed) != 0;
  }
  void add(std::uint64_t value) noexcept {
    slots_[slot(value)].fetch_add(1, std::memory_order_relaxed);
  }
  void remove(std::uint64_t value) noexcept {
    slots_[slot(value)].fetch_sub(1, std::memory_order_relaxed);
  }
  void clear() noexcept {
    for (auto& each : slots_) each.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static std::size_t slot(std::uint64_t value) noexcept {
    return static_cast<std::size_t>((value * 0x9e3779b97f4a7c15u) >> 52) % kSlots;
  }
  std::array<std::atomic<std::uint16_t>, kSlots> slots_{};
};
inline constinit EndedFilter g_ended;

/// Thread-safe; no lock is held across a call of the driver. What finds no memory is not kept, nor
/// what a signal handler or an allocator does that interrupted its own thread at work here.
class ObjectTable {
 public:
  void add(const PlainObject& object) noexcept;
  /// Takes it out, before the driver may give its handle out again. ended() completes that, unless
  /// add() or forget() saw the handle given out meanwhile; stays() takes it back.
  std::optional<PlainObject> take(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// It ended, in the call `at`; `made`: by whom it was made, where that is known. A call without a
  /// number may have given up one of several references: then nothing is said of it.
  void ended(PlainObject::Kind kind, std::uint64_t value, StackId made, Origin at) noexcept;
  void stays(PlainObject::Kind kind, std::uint64_t value,
             const std::optional<PlainObject>& taken) noexcept;
  /// The driver gives the handle out, by a way that makes nothing new of the program's.
  void forget(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// The same of all handles of a kind.
  void forget_all(PlainObject::Kind kind) noexcept;
  /// How an object with this handle ended, if none has it now as far as is known.
  std::optional<EndedObject> find_ended(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// The driver gives out a handle that is part of an object and ends with it: a function of a
  /// module. Or of the same object as another part, if that is known.
  /// `size`: the bytes of memory.
  void add_part(PlainObject::Kind kind, std::uint64_t value, PlainObject::Kind whole_kind,
                std::uint64_t whole, std::uint64_t size = 0) noexcept;
  void add_part_beside(PlainObject::Kind kind, std::uint64_t value, std::uint64_t other) noexcept;
  /// The global that held this address, and went with its module.
  std::optional<EndedObject> find_ended_global(std::uint64_t address) noexcept;
  /// Whether the program made this context.
  bool is_made(std::uint64_t context) noexcept;
  /// The context ended in the call `at` (see ended()), or the primary one of the device did.
  void end_context(std::uint64_t context, Origin at) noexcept;
  void end_primary(int device, Origin at) noexcept;

  /// Retains of primary contexts have no name: who released which is known by who they are. So
  /// both are counted by device and stack.
  struct Retains {
    int device = -1;
    StackId stack = 0;
    std::uint64_t count = 0;
  };
  void retained(int device, StackId stack) noexcept;
  void released(int device, StackId stack) noexcept;

  struct All {
    std::vector<PlainObject> objects;
    std::vector<Retains> retained, released;
  };
  /// Nothing where a signal interrupted this thread here, or another one keeps the lock.
  std::optional<All> all(std::chrono::milliseconds limit);

  bool lock_for_fork() noexcept CUVMM_UNCHECKED;
  void unlock_after_fork() noexcept CUVMM_UNCHECKED { mutex_.unlock(); }
  /// In a child of fork, which starts from nothing. What is not `whole` is not looked at.
  void clear(bool whole) CUVMM_UNCHECKED;

 private:
  using Key = std::pair<PlainObject::Kind, std::uint64_t>;
  using Count = std::map<std::pair<int, StackId>, std::uint64_t>;
  template <class Ends>
  void end(Ends ends, Origin at) noexcept;
  struct Whole {
    Key key;
    std::uint64_t size = 0;  ///< of the part
  };
  void bury(Key key, StackId made, Origin at, bool with_context, std::uint64_t size = 0)
      CUVMM_NEEDS(mutex_);
  void unbury(Key key) noexcept CUVMM_NEEDS(mutex_);
  void put_part(Key part, Key whole, std::uint64_t size) noexcept CUVMM_NEEDS(mutex_);
  void drop_part(Key part) noexcept CUVMM_NEEDS(mutex_);
  /// The object has no parts after that.
  void drop_parts(Key whole) noexcept CUVMM_NEEDS(mutex_);
  void bury_parts(Key whole, StackId made, Origin at, bool with_context) noexcept
      CUVMM_NEEDS(mutex_);

  /// Of older ones of a kind nothing is known any more.
  static constexpr std::size_t kMostEnded = 1024;
  struct Ended {
    StackId made = 0;
    bool with_context = false;
    Origin at;
    std::uint64_t number = 0;  ///< counts all that ended
    std::uint64_t size = 0;    ///< of a global
  };

  OwnedMutex mutex_;
  /// Whose end the driver has been asked for and has not answered.
  std::set<Key> ending_ CUVMM_GUARDED_BY(mutex_);
  std::map<Key, Ended> ended_ CUVMM_GUARDED_BY(mutex_);
  /// By handle and number, oldest first; some are forgotten by now.
  using Order = std::deque<std::pair<std::uint64_t, std::uint64_t>>;
  std::array<Order, static_cast<std::size_t>(PlainObject::Kind::kCount)> order_
      CUVMM_GUARDED_BY(mutex_);
  std::uint64_t ended_count_ CUVMM_GUARDED_BY(mutex_) = 0;
  std::map<Key, PlainObject> objects_ CUVMM_GUARDED_BY(mutex_);
  std::map<Key, Whole> wholes_ CUVMM_GUARDED_BY(mutex_);          ///< of each part
  std::set<std::pair<Key, Key>> parts_ CUVMM_GUARDED_BY(mutex_);  ///< whole and part
  Count retained_ CUVMM_GUARDED_BY(mutex_), released_ CUVMM_GUARDED_BY(mutex_);
};

/// Never destroyed: calls come from threads that outlive main().
ObjectTable& object_table() noexcept;

}  // namespace cuvmm::shim
