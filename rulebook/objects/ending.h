// SPDX-License-Identifier: Apache-2.0
// Contexts that end, and the objects that end with them.
//
// The facts: memory of cuMemCreate, addresses and their mappings outlive every context (an H200 was
// asked for a reset; documented for cuCtxDestroy). Memory of pools outlives them, too (documented
// for cuCtxDestroy; an H100 was asked for the last release and for a reset of the primary context).
// External memory and semaphores end with their context (documented). The documentation does not
// say what happens to memory opened by legacy IPC, nor to imported pools and to the settings of
// pools when the primary context ends. The model takes every object out that may have ended: it is
// unknown from then on, and no check reports an unknown object.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

/// The contexts that a call ends: one context by its handle, every context that may be a device's
/// primary one, or any context. The states take an Ending as they take a call.
struct Ending {
  std::uint64_t context = 0;
  int device = -1;
  bool any = false;  ///< it is not known which context ends

  /// Whether this names no context; a driver refuses such a call.
  bool empty() const { return context == 0 && device < 0 && !any; }
  /// Whether an object ends that belongs to the context `in` (0 unknown) and the device `on` (-1
  /// unknown).
  bool ends(std::uint64_t in, int on) const {
    if (any) return true;
    if (context != 0) return in == 0 || in == context;
    return on < 0 || on == device;
  }
};

inline Ending ending_of(const calls::CtxDestroy& call) {
  return {.context = reinterpret_cast<std::uintptr_t>(call.ctx), .device = -1, .any = false};
}
inline Ending ending_of(const calls::DevicePrimaryCtxRelease& call) {
  return {.context = 0, .device = call.dev, .any = false};
}
inline Ending ending_of(const calls::DevicePrimaryCtxReset& call) {
  return {.context = 0, .device = call.dev, .any = false};
}
inline Ending ending_of(const calls::CtxDetach& call) {
  return {.context = reinterpret_cast<std::uintptr_t>(call.ctx), .device = -1, .any = false};
}
/// A green context gives up a reference of its device's primary context as well. Only the driver
/// knows which device that is.
inline Ending ending_of(const calls::GreenCtxDestroy& call) {
  return {.context = 0, .device = -1, .any = call.hCtx != nullptr};
}
/// A call that ends a context, or gives up a reference to one.
template <class CallStruct>
concept EndsContext = requires(const CallStruct& call) {
  ending_of(call);
};

/// Moves the objects out of the table for which `ends` is true.
template <class Table, class Object, class Ends>
void move_out(Table& table, std::vector<Object>& taken, Ends ends) {
  for (auto it = table.begin(); it != table.end();) {
    if (!ends(it->second)) {
      ++it;
      continue;
    }
    taken.push_back(it->second);
    it = table.erase(it);
  }
}

/// Objects that other calls ended while a call was ending a context, and that the model did not
/// know at that moment. The call may have taken them out of the model; if the call fails, undo()
/// must not put them back. An object is noted only while such a call is under way.
class EndsMeanwhile {
 public:
  void begin() { ++calls_; }
  void end() {
    if (--calls_ == 0) ended_.clear();
  }
  void note(ObjectRef::Kind kind, std::uint64_t value) {
    if (calls_ != 0) [[unlikely]]
      ended_.emplace_back(kind, value);
  }
  bool contains(ObjectRef::Kind kind, std::uint64_t value) const {
    for (const auto& one : ended_) {
      if (one == std::pair(kind, value)) return true;
    }
    return false;
  }

 private:
  unsigned calls_ = 0;
  std::vector<std::pair<ObjectRef::Kind, std::uint64_t>> ended_;
};

}  // namespace cuvmm
