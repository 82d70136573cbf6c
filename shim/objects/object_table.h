// SPDX-License-Identifier: Apache-2.0
// Objects of the program that are no memory: streams, events, contexts, code, graphs. The report at
// the end lists those that are left; calls that name an object learn whether it has ended
// (shim/objects/ended.h).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "rulebook/memory/check_ended.h"
#include "shim/base/owned_mutex.h"
#include "shim/objects/kernel_nodes.h"
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
    kTexture,
    kSurface,
    kUserObject,  ///< while the program owns references to it
    // Parts of a module, a library or a graph; the table has only their ends.
    kFunction,
    kGlobal,  ///< its handle is its address
    kNode,    ///< of a graph
    kCount
  };
  Kind kind = Kind::kStream;
  std::uint64_t value = 0;    ///< its handle
  std::uint64_t context = 0;  ///< the context that was current when the object was made, 0 none
  int device = -1;            ///< the device of that context if it is a primary context; -1: it is
                              ///< none
  StackId made = 0;
  unsigned flags = 0;  ///< of an event; of a user object: the references that the program owns

  /// Whether the driver destroys it with the context that it was made in.
  bool ends_with_context() const {
    return kind == Kind::kStream || kind == Kind::kEvent || kind == Kind::kModule ||
           kind == Kind::kTexture || kind == Kind::kSurface;
  }
};
/// The kind of such an object in findings; kCount if no finding names it.
ObjectRef::Kind object_kind(PlainObject::Kind kind);
/// The name of a kind: "stream", "executable graph", "retain of a primary context", ...
const char* words(PlainObject::Kind kind);

/// The number of ended handles that fall into each slot: most calls name no ended object, and see
/// that by one load. Separate from the table, so that the check calls no function.
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
/// Whether a node of any graph has named NULL as an external semaphore: launches look no further
/// otherwise.
inline constinit std::atomic<bool> g_null_semaphores{false};

/// Thread-safe; no thread holds its lock across a call of the driver. The table drops an object if
/// memory runs out, or if a signal handler or an allocator makes the call after interrupting its
/// own thread inside of the table.
class ObjectTable {
 public:
  void add(const PlainObject& object) noexcept;
  /// Takes the object out, before the driver may return its handle again. ended() completes that,
  /// unless add() or forget() saw the handle returned meanwhile; stays() puts the object back.
  std::optional<PlainObject> take(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// The object ended in the call `at`; `made`: the stack of its maker, if known. A call without a
  /// number may have given up one of several references: then the object does not count as ended.
  void ended(PlainObject::Kind kind, std::uint64_t value, StackId made, Origin at) noexcept;
  void stays(PlainObject::Kind kind, std::uint64_t value,
             const std::optional<PlainObject>& taken) noexcept;
  /// The driver returned the handle in a call that makes no new object of the program.
  void forget(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// forget() for all handles of a kind.
  void forget_all(PlainObject::Kind kind) noexcept;
  /// How an object with this handle ended; nullopt if another object is known to have the handle
  /// now.
  std::optional<EndedObject> find_ended(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// Whether the program made an object with this handle that has not ended.
  bool is_alive(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// The flags of an event that lives; nullopt: unknown.
  std::optional<unsigned> flags_of_event(std::uint64_t value) noexcept;
  /// An event that lives, with its maker and its context; nullopt: unknown.
  std::optional<PlainObject> find_event(std::uint64_t value) noexcept;
  /// The driver returned a handle that is part of an object and ends with it: a function of a
  /// module. add_part_beside() adds a part to the object of another part, if that object is known.
  /// `size`: the bytes of memory of a global.
  void add_part(PlainObject::Kind kind, std::uint64_t value, PlainObject::Kind whole_kind,
                std::uint64_t whole, std::uint64_t size = 0) noexcept;
  void add_part_beside(PlainObject::Kind kind, std::uint64_t value, std::uint64_t other) noexcept;
  /// The global that held this address, and ended with its module.
  std::optional<EndedObject> find_ended_global(std::uint64_t address) noexcept;
  /// A node of a graph runs this function: `graph` 0 if the driver had added the node before.
  void run_function(std::uint64_t graph, std::uint64_t node, std::uint64_t function) noexcept;
  /// KernelNodes::copy().
  void copy_nodes(std::uint64_t from, std::uint64_t to, std::uint64_t node) noexcept;
  /// The driver has made the executable graph of this graph, or updated it to this graph.
  void execute(std::uint64_t executable, std::uint64_t graph) noexcept;
  /// KernelNodes::change_executable(), executes().
  void change_executable(std::uint64_t executable, std::uint64_t function) noexcept;
  bool executes(std::uint64_t executable, std::uint64_t function) noexcept;
  /// A function that a kernel node of the graph runs, or one of these functions, whose code was
  /// unloaded.
  std::optional<EndedObject> find_unloaded(std::uint64_t graph) noexcept;
  std::optional<EndedObject> find_unloaded(std::span<const std::uint64_t> functions) noexcept;
  bool any_function_ended() noexcept;
  /// The program took (`change` > 0) or gave up references to a user object.
  void refer(std::uint64_t value, std::int64_t change) noexcept;
  /// Whether an object ended that this stack made; true if nobody can tell.
  bool any_made_by(StackId stack) noexcept;
  /// Whether the program made this context.
  bool is_made(std::uint64_t context) noexcept;
  /// The context, or the primary context of the device, ended in the call `at` (see ended()).
  void end_context(std::uint64_t context, Origin at) noexcept;
  void end_primary(int device, Origin at) noexcept;

  /// Retains of primary contexts have no handle, so that no release names its retain. So both are
  /// counted by device and stack.
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
  /// nullopt if a signal interrupted this thread in the table, or if another thread holds the lock.
  std::optional<All> all(std::chrono::milliseconds limit);

  bool lock_for_fork() noexcept CUVMM_UNCHECKED;
  void unlock_after_fork() noexcept CUVMM_UNCHECKED { mutex_.unlock(); }
  /// Called in a child of fork, which starts with an empty table. Abandons the tables unless they
  /// are `whole`.
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
  /// Removes all parts of the object.
  void drop_parts(Key whole) noexcept CUVMM_NEEDS(mutex_);
  void bury_parts(Key whole, StackId made, Origin at, bool with_context) noexcept
      CUVMM_NEEDS(mutex_);

  /// The number of ends that are kept of each kind; older ends are forgotten.
  static constexpr std::size_t kMostEnded = 1024;
  struct Ended {
    StackId made = 0;
    bool with_context = false;
    Origin at;
    std::uint64_t number = 0;  ///< counts all ended objects
    std::uint64_t size = 0;    ///< the bytes of a global
  };
  static EndedObject ended_object(PlainObject::Kind kind, std::uint64_t value, const Ended& ended);

  OwnedMutex mutex_;
  /// The driver has been asked to end these objects and has not answered.
  std::set<Key> ending_ CUVMM_GUARDED_BY(mutex_);
  std::map<Key, Ended> ended_ CUVMM_GUARDED_BY(mutex_);
  /// By handle and number, oldest first; some of them are forgotten already.
  using Order = std::deque<std::pair<std::uint64_t, std::uint64_t>>;
  std::array<Order, static_cast<std::size_t>(PlainObject::Kind::kCount)> order_
      CUVMM_GUARDED_BY(mutex_);
  std::uint64_t ended_count_ CUVMM_GUARDED_BY(mutex_) = 0;
  std::set<StackId> makers_ CUVMM_GUARDED_BY(mutex_);  ///< of all objects that ended
  std::map<Key, PlainObject> objects_ CUVMM_GUARDED_BY(mutex_);
  std::map<Key, Whole> wholes_ CUVMM_GUARDED_BY(mutex_);          ///< the whole of each part
  std::set<std::pair<Key, Key>> parts_ CUVMM_GUARDED_BY(mutex_);  ///< whole and part
  KernelNodes kernel_nodes_ CUVMM_GUARDED_BY(mutex_);
  Count retained_ CUVMM_GUARDED_BY(mutex_), released_ CUVMM_GUARDED_BY(mutex_);
};

/// Never destroyed, because threads that outlive main() make calls.
ObjectTable& object_table() noexcept;

}  // namespace cuvmm::shim
