// SPDX-License-Identifier: Apache-2.0
// The model: one process's view of the memory APIs, as a pure state machine.
//
// No I/O, no locks, no clock: the shim and the emulator call the model under locks of their own.
// The model consists of one state per area, and every state has the same three verbs (UnicastState
// explains them). A call goes to every state that has an overload for it. check() finds the
// mistakes in a call; it only reads the model.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "api/calls.h"
#include "rulebook/base/platform.h"
#include "rulebook/objects/change.h"
#include "rulebook/objects/ending.h"
#include "rulebook/objects/objects.h"
#include "rulebook/objects/tombstones.h"
#include "rulebook/states/array_state.h"
#include "rulebook/states/descriptor_state.h"
#include "rulebook/states/endpoint_state.h"
#include "rulebook/states/external_state.h"
#include "rulebook/states/ipc_state.h"
#include "rulebook/states/memory_state.h"
#include "rulebook/states/multicast_state.h"
#include "rulebook/states/pool_state.h"
#include "rulebook/states/surroundings.h"
#include "rulebook/states/tile_state.h"
#include "rulebook/states/unicast_state.h"

namespace cuvmm {

namespace detail {

// Whether a state has something to do when a call of this kind begins, or is confirmed.
template <class State, class Call>
concept Gives = requires(State& state, const Call& call, Origin at, const Surroundings& around,
                         Retired& retired) {
  state.begin(call, at, around, retired);
};
template <class State, class Call>
concept Makes = requires(State& state, const Call& call, const Facts& facts, Origin at,
                         const Surroundings& around) {
  state.confirm(call, facts, at, around);
};
template <class Call>
concept GivesVmm = requires(UnicastState& state, const Call& call, Origin at, Tombstones& history,
                            Retired& retired) {
  state.begin(call, at, history, retired);
};
template <class Call>
concept MakesVmm = requires(UnicastState& state, const Call& call, const Facts& facts, Origin at,
                            Tombstones& history) {
  state.confirm(call, facts, at, history);
};
// A call about multicast that accepted the handle of an object.
template <class Call>
concept NamesMulticast = requires(const Call& call, Handle handle) {
  handle = call.mcHandle;
};
template <class Call, class... States>
inline constexpr bool gives_any = (Gives<States, Call> || ...);
template <class Call, class... States>
inline constexpr bool makes_any = (Makes<States, Call> || ...);

}  // namespace detail

/// The program chooses the name of the object that the call makes, so Model::begin() records the
/// object at once.
template <class Call>
concept RecordsAtOnce = requires(UnicastState& state, const Call& call, Origin at,
                                 Tombstones& history, Recorded& recorded) {
  state.begin(call, at, history, recorded);
};

/// The call gives up names: Model::begin() takes them out before the driver can give them out
/// again.
template <class Call>
inline constexpr bool kGivesUp =
    EndsContext<Call> || detail::GivesVmm<Call> ||
    detail::gives_any<Call, MulticastState, EndpointState, IpcState, PoolState, ExternalState,
                      ArrayState, TileState, MemoryState>;

/// The objects that the call ends become history in Model::begin(), and nothing is left for
/// Model::confirm(), because drivers hardly ever refuse such a call.
template <class Call>
inline constexpr bool kHistoryAtOnce = detail::GivesVmm<Call>;

/// A successful call makes an object: Model::confirm() records it.
template <class Call>
inline constexpr bool kMakes =
    detail::MakesVmm<Call> ||
    detail::makes_any<Call, MulticastState, EndpointState, DescriptorState, IpcState, PoolState,
                      ExternalState, ArrayState, TileState, MemoryState>;

/// The change that Model::begin() makes for a call of this kind.
template <class Call>
using ChangeOf = std::conditional_t<RecordsAtOnce<Call>, Recorded,
                                    std::conditional_t<kGivesUp<Call>, Retired, NoChange>>;

class Model {
 public:
  explicit Model(Platform platform = {}) : platform_(std::move(platform)) {}

  const Platform& platform() const { return platform_; }
  Platform& platform() { return platform_; }

  // --- Queries, for checks, for the emulator's page table and for the exit report.
  const std::map<Address, Reservation>& reservations() const { return vmm_.reservations(); }
  const std::map<Address, Mapping>& mappings() const { return vmm_.mappings(); }
  const std::unordered_map<Handle, Allocation>& allocations() const { return vmm_.allocations(); }
  const std::unordered_map<int, Export>& exports() const { return descriptors_.exports(); }
  const DescriptorState& descriptors() const { return descriptors_; }
  const IpcState& ipc() const { return ipc_; }
  const PoolState& pools() const { return pools_; }
  const ExternalState& external() const { return external_; }
  const ArrayState& arrays() const { return arrays_; }
  const TileState& tiles() const { return tiles_; }
  const MemoryState& memory() const { return memory_; }
  const EndpointState& endpoints() const { return endpoints_; }
  const Tombstones& tombstones() const { return tombstones_; }

  /// The reservation that holds `address`, or null.
  const Reservation* reservation_at(Address address) const { return vmm_.reservation_at(address); }
  /// The mapping that holds `address`, or null.
  const Mapping* mapping_at(Address address) const { return vmm_.mapping_at(address); }
  /// The first mapping that ends after `address`, as an iterator of mappings().
  std::map<Address, Mapping>::const_iterator first_mapping_after(Address address) const {
    return vmm_.first_mapping_after(address);
  }
  bool holds_mapping(const Reservation& r) const { return vmm_.holds_mapping(r); }
  const Allocation* allocation(Handle handle) const { return vmm_.allocation(handle); }
  const std::unordered_map<Handle, MulticastObject>& multicasts() const {
    return multicast_.objects();
  }
  const MulticastObject* multicast(Handle handle) const { return multicast_.find(handle); }
  /// The memory that a bind names: its handle and the offset there; handle 0 when unknown.
  std::pair<Handle, Size> memory_of(const MulticastBind& bind) const {
    return cuvmm::memory_of(bind, vmm_);
  }
  std::pair<Handle, Size> memory_of(const EndpointBind& bind) const {
    return cuvmm::memory_of(bind, vmm_);
  }
  /// The device of the memory that a bind names, -1 unknown.
  int device_of(const MulticastBind& bind) const { return cuvmm::device_of(bind, vmm_); }

  /// Runs before the call goes to the driver. `change` is a new one. The caller must begin a call
  /// that gives something up; a call that only makes something may be left to confirm().
  template <class Call>
  void begin(const Call& call, Origin at, ChangeOf<Call>& change);
  /// The driver accepted the call. confirm() now also does what begin() left out because it
  /// expected the driver to refuse; objects that are newer than the call `at` stay as they are.
  template <class Call>
  void confirm(const Call& call, const Facts& facts, Origin at, ChangeOf<Call>& change);
  /// The driver refused the call: everything is as before begin(), if begin() was called.
  template <class Call>
  void undo(const Call& call, Origin at, ChangeOf<Call>& change);

  /// The program closed a descriptor.
  void closed(int fd) { descriptors_.closed(fd); }
  void closed(int fd, const ClosedDescriptor& known) { descriptors_.closed(fd, known); }
  /// Puts in objects that another view of this process knew (recorder/holdings/reader.h).
  void restore(const Reservation& known) { vmm_.restore(known); }
  void restore(const Mapping& known) { vmm_.restore(known); }
  void restore(const Allocation& known) { vmm_.restore(known); }
  void restore(const Export& known) { descriptors_.restore(known); }
  void restore(const PoolMemory& known) { pools_.restore(known); }
  /// The driver showed that an import is a multicast object; `known` has the facts about it.
  void import_multicast(MulticastObject known, Origin at);
  /// A child of fork starts with an empty model; the platform stays.
  void clear();

 private:
  Surroundings around() { return {tombstones_, ends_meanwhile_, vmm_, platform_}; }
  void begin(const Ending& ending, Origin at, Retired& retired);
  /// Asserts the invariants of the states.
#ifdef NDEBUG
  void verify() const {}
#else
  void verify() const;
#endif
  [[gnu::cold]] void confirm_rare(const RarelyRetired& taken, Origin at);
  [[gnu::cold]] void undo_all(Retired& retired, Origin at);

  /// Calls visit(state) for each state but vmm_, in the order in which a call goes through them.
  template <class Visitor>
  void each_state(Visitor&& visit) {
    visit(multicast_);
    visit(endpoints_);
    visit(descriptors_);
    visit(ipc_);
    visit(pools_);
    visit(external_);
    visit(arrays_);
    visit(tiles_);
    visit(memory_);
  }

  UnicastState vmm_;
  MulticastState multicast_;
  EndpointState endpoints_;
  TileState tiles_;
  Platform platform_;
  Tombstones tombstones_;
  DescriptorState descriptors_;
  IpcState ipc_;
  PoolState pools_;
  ExternalState external_;
  MemoryState memory_;
  ArrayState arrays_;
  EndsMeanwhile ends_meanwhile_;
};

template <class Call>
void Model::begin(const Call& call, Origin at, ChangeOf<Call>& change) {
  if constexpr (EndsContext<Call>) {
    begin(ending_of(call), at, change);
  } else if constexpr (RecordsAtOnce<Call>) {
    vmm_.begin(call, at, tombstones_, change);
  } else if constexpr (kGivesUp<Call>) {
    change.begun = true;
    if constexpr (detail::GivesVmm<Call>) vmm_.begin(call, at, tombstones_, change);
    each_state([&](auto& state) {
      if constexpr (detail::Gives<std::remove_reference_t<decltype(state)>, Call>) {
        state.begin(call, at, around(), change);
      }
    });
  }
}

template <class Call>
void Model::confirm(const Call& call, const Facts& facts, Origin at, ChangeOf<Call>& change) {
  if constexpr (RecordsAtOnce<Call>) {
    if (change.done) return;
  }
  if constexpr (kGivesUp<Call>) {
    if (!change.begun) [[unlikely]] {
      begin(call, at, change);
      // Another call may have received the name from the driver before this thread took the lock.
      if (change.newer_than(at)) return undo_all(change, at);
    }
    if (change.rare) [[unlikely]]
      confirm_rare(*change.rare, at);
  }
  if constexpr (detail::MakesVmm<Call>) vmm_.confirm(call, facts, at, tombstones_);
  each_state([&](auto& state) {
    if constexpr (detail::Makes<std::remove_reference_t<decltype(state)>, Call>) {
      state.confirm(call, facts, at, around());
    }
  });
  if constexpr (detail::NamesMulticast<Call>) vmm_.mark_multicast(call.mcHandle);
  if constexpr (kGivesUp<Call> || kMakes<Call>) verify();
}

template <class Call>
void Model::undo(const Call& call, Origin at, ChangeOf<Call>& change) {
  if constexpr (std::is_same_v<ChangeOf<Call>, Recorded>) {
    if (!change.done) return;
    vmm_.undo(call, at, tombstones_, change);
  } else if constexpr (kGivesUp<Call>) {
    undo_all(change, at);
    if constexpr (requires { vmm_.note_refused(call, at); }) vmm_.note_refused(call, at);
    verify();
  }
}

}  // namespace cuvmm
