// SPDX-License-Identifier: Apache-2.0
// The model's multicast objects: their teams, and the bindings of this process.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "api/calls.h"
#include "rulebook/objects/multicast_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The memory that a bind names: its handle and the offset there; handle 0 when unknown.
std::pair<Handle, Size> memory_of(const MulticastBind& bind, const UnicastState& vmm);
/// The device whose memory a bind names, -1 unknown.
int device_of(const MulticastBind& bind, const UnicastState& vmm);

/// The verbs are those of UnicastState.
class MulticastState {
 public:
  const std::unordered_map<Handle, MulticastObject>& objects() const { return objects_; }
  const MulticastObject* find(Handle handle) const {
    if (objects_.empty()) return nullptr;
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : &it->second;
  }

  void begin(const calls::MulticastUnbind& call, Origin at, const Surroundings& around,
             Retired& retired);
  // An allocation that ends takes its multicast object and its bindings with it.
  void begin(const calls::MemRelease&, Origin, const Surroundings& around, Retired& retired) {
    if (!objects_.empty()) [[unlikely]]
      end_dead(around.vmm, retired);
  }
  void begin(const calls::MemUnmap&, Origin, const Surroundings& around, Retired& retired) {
    if (!objects_.empty()) [[unlikely]]
      end_dead(around.vmm, retired);
  }

  // The driver gave a handle value out anew: the old object ended by a route that cuvmm did not
  // see.
  void confirm(const calls::MemCreate& call, const Facts&, Origin, const Surroundings&) {
    if (!objects_.empty()) [[unlikely]]
      objects_.erase(*call.handle);
  }
  void confirm(const calls::MemImportFromShareableHandle& call, const Facts&, Origin,
               const Surroundings&) {
    if (!objects_.empty()) [[unlikely]]
      objects_.erase(*call.handle);
  }
  void confirm(const calls::MemExportToShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MulticastCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MulticastAddDevice& call, const Facts& facts, Origin at,
               const Surroundings& around);
  template <BindsMulticast CallStruct>
  void confirm(const CallStruct& call, const Facts&, Origin at, const Surroundings& around) {
    bind(bind_of(call), at, around.vmm);
  }
  /// The driver showed that an import is a multicast object; `known` has the facts about it.
  void imported(MulticastObject known, Origin at);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

 private:
  void bind(const MulticastBind& bind, Origin at, const UnicastState& vmm);
  // The object of a handle that a multicast call accepted. Makes the object if the model does not
  // know it, because the driver accepts only handles of multicast objects.
  MulticastObject& known(Handle handle, Origin at);
  [[gnu::cold]] void end_dead(const UnicastState& vmm, Retired& retired);
  void end(Handle handle, Retired& retired);

  std::unordered_map<Handle, MulticastObject> objects_;
};

}  // namespace cuvmm
