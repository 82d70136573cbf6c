// SPDX-License-Identifier: Apache-2.0
// What the program made and has not ended that is no memory: streams, events, contexts, code,
// graphs. No rule is about how long they live; at the end it is said which are left.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shim/session/owned_mutex.h"
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

/// Thread-safe; no lock is held across a call of the driver. What finds no memory is not kept, nor
/// what a signal handler or an allocator does that interrupted its own thread at work here.
class ObjectTable {
 public:
  void add(const PlainObject& object) noexcept;
  /// Takes it out, before the driver may give its handle out again.
  std::optional<PlainObject> take(PlainObject::Kind kind, std::uint64_t value) noexcept;
  /// Whether the program made this context.
  bool is_made(std::uint64_t context) noexcept;
  /// The context ended, or the primary one of the device did.
  void end_context(std::uint64_t context) noexcept;
  void end_primary(int device) noexcept;

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
  void end(Ends ends) noexcept;

  OwnedMutex mutex_;
  std::map<Key, PlainObject> objects_ CUVMM_GUARDED_BY(mutex_);
  Count retained_ CUVMM_GUARDED_BY(mutex_), released_ CUVMM_GUARDED_BY(mutex_);
};

/// Never destroyed: calls come from threads that outlive main().
ObjectTable& object_table() noexcept;

}  // namespace cuvmm::shim
