// SPDX-License-Identifier: Apache-2.0
// The model: one process's view of the VMM API, as a pure state machine.
//
// No I/O, no locks, no clock: the shim calls it under its lock, the emulator under its own. Per
// call: check() (const) says what is wrong with it; retire() takes away the names that it gives up
// before it is forwarded, so that a name the driver reuses at once is never confused, and bury()
// makes them history; commit() records what a successful call made, record() what one is about to
// make. unbury(), restore() and unrecord() put back what a refused call left as it was.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "api/calls.h"
#include "rulebook/data/pool_state.h"
#include "rulebook/model/ended_context.h"
#include "rulebook/model/few.h"
#include "rulebook/model/finger.h"
#include "rulebook/model/last_found.h"
#include "rulebook/model/spare_nodes.h"
#include "rulebook/model/tile_state.h"
#include "rulebook/model/tombstones.h"
#include "rulebook/platform.h"
#include "rulebook/sharing/external_state.h"
#include "rulebook/sharing/ipc_state.h"
#include "rulebook/sharing/multicast_state.h"
#include "rulebook/violation.h"

namespace cuvmm {

using Address = std::uint64_t;
using Size = std::uint64_t;

/// [a, a + a_size) and [b, b + b_size) share a byte. Never adds, so it cannot wrap.
inline bool overlap(Address a, Size a_size, Address b, Size b_size) {
  return a < b ? b - a < a_size : a - b < b_size;
}
/// The last byte of [base, base + size) is in [at, at + at_size) or before it, where both overlap.
/// Loops over a range stop there: to step on from the last entry of a large map costs as much as a
/// search.
inline bool reaches_end(Address at, Size at_size, Address base, Size size) {
  return at < base ? at_size - (base - at) >= size : at_size >= size - (at - base);
}
using Handle = CUmemGenericAllocationHandle;

/// A live address range from cuMemAddressReserve.
struct Reservation {
  Address base = 0;
  Size size = 0;
  Origin made;
  /// A cuMemAddressFree from its base on that the driver refused: the program gave it up.
  Origin free_refused;
  Origin unmapped;      ///< the last call that unmapped something in it
  bool mapped = false;  ///< something was
  bool reused = false;  ///< something was mapped after something had been unmapped
};

/// Physical memory as this process knows it: one handle value and its references.
struct Allocation {
  Handle handle = 0;
  Size size = 0;         ///< bytes; 0 unknown (an import whose size was not learned yet)
  Size granularity = 0;  ///< MINIMUM granularity for its properties, 0 unknown
  CUmemAllocationProp prop{};
  bool prop_known = false;
  bool imported = false;
  bool creation_seen =
      true;  ///< false: made by a route we did not see; it may have more references
  std::uint32_t references = 0;  ///< creates, imports and retains minus releases
  std::uint32_t retains = 0;     ///< how many of all references ever taken came from a retain
  std::uint32_t mappings = 0;
  Origin made;
  Origin retained;  ///< the last retain
  Origin released;  ///< the last release
  Origin unmapped;  ///< the call that removed its last mapping
};

/// Access per location as bit masks: bit d for device d (0..61), kHostBit for every host location.
/// kDeviceLastBit of `read` is no access: device 0's was changed after the host's.
struct AccessMask {
  static constexpr std::uint64_t kHostBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kDeviceLastBit = std::uint64_t{1} << 62;
  std::uint64_t read = 0;
  std::uint64_t write = 0;

  /// Whose access a driver answers for HOST: the host's or device 0's, of those that have any the
  /// one that was changed last (all orders of up to three settings, asked of an H200).
  std::uint64_t host_answer_bit() const {
    if (!(read & kHostBit)) return 1;
    return (read & 1) && (read & kDeviceLastBit) ? 1 : kHostBit;
  }
};

/// [base, base + size) backed by an allocation from its start, or by a multicast object from an
/// offset.
struct Mapping {
  Address base = 0;
  Size size = 0;
  Size offset = 0;
  Handle handle = 0;
  AccessMask access;
  Origin made;
};

/// A shareable descriptor that this process exported and has not been seen to close.
struct Export {
  int fd = -1;
  Handle handle = 0;
  Size size = 0;  ///< of the allocation, which may be released since; 0 unknown
  Origin made;
};

/// What retire() takes out but seldom.
struct RarelyRetired {
  RetiredMulticast multicast;
  Few<IpcExport> ipc_exports;  ///< of memory that was freed
  Few<IpcOpen> ipc_opens;      ///< one open of each was closed
  Few<Pool> pools;
  Few<PoolMemory> pool_memory;
  ExternalRetired external;
  EndedContext context;
};

/// What retire() took out, for restore() or for the tombstones.
struct Retired {
  Few<Reservation> reservations;
  Few<Mapping> mappings;
  Few<Allocation> allocations;  ///< as they were before; restore() puts them back
  bool released = false;        ///< a reference of allocations[0] was dropped
  struct Drop {
    [[gnu::cold, gnu::noinline]] void operator()(RarelyRetired* rare) const { delete rare; }
  };
  /// Null for nearly every call: each one makes and destroys a Retired.
  std::unique_ptr<RarelyRetired, Drop> rare;

  RarelyRetired& more() {
    if (!rare) rare.reset(new RarelyRetired);
    return *rare;
  }
};

/// What record() did, for unrecord().
struct Recorded {
  bool done = false;
  AccessMask access;  ///< of the one mapping, before
};

class Model {
 public:
  explicit Model(Platform platform = {}) : platform_(std::move(platform)) {}

  const Platform& platform() const { return platform_; }
  Platform& platform() { return platform_; }

  // --- Queries, for checks, for the emulator's page table and for the exit report.
  const std::map<Address, Reservation>& reservations() const { return reservations_; }
  const std::map<Address, Mapping>& mappings() const { return mappings_; }
  const std::unordered_map<Handle, Allocation>& allocations() const { return allocations_; }
  const std::unordered_map<int, Export>& exports() const { return exports_; }
  const IpcState& ipc() const { return ipc_; }
  const PoolState& pools() const { return pools_; }
  const ExternalState& external() const { return external_; }
  const TileState& tiles() const { return tiles_; }
  const Tombstones& tombstones() const { return tombstones_; }

  /// The reservation that holds `address`, or null.
  [[gnu::hot]] const Reservation* reservation_at(Address address) const;
  /// The mapping that holds `address`, or null.
  [[gnu::hot]] const Mapping* mapping_at(Address address) const;
  /// The first mapping that ends after `address`, as an iterator of mappings().
  [[gnu::hot]] std::map<Address, Mapping>::const_iterator first_mapping_after(
      Address address) const;
  bool holds_mapping(const Reservation& r) const;
  const Allocation* allocation(Handle handle) const {
    const Allocation* last = last_allocation_.get();
    return last && last->handle == handle ? last : search(handle);
  }
  const MulticastObjects& multicasts() const { return multicasts_; }
  const MulticastObject* multicast(Handle handle) const {
    if (multicasts_.empty()) return nullptr;
    const auto it = multicasts_.find(handle);
    return it == multicasts_.end() ? nullptr : &it->second;
  }
  /// The memory that a bind names: its handle and the offset there; handle 0 when it is unknown.
  std::pair<Handle, Size> memory_of(const MulticastBind& bind) const;
  /// The device whose memory a bind names, -1 unknown.
  int device_of(const MulticastBind& bind) const;

  // --- Taking away, into an empty `retired`. Calls that give nothing up have no overload.
  void retire(const calls::MemRelease& call, Retired& retired);
  void retire(const calls::MemUnmap& call, Retired& retired);
  void retire(const calls::MemAddressFree& call, Retired& retired);
  void retire(const calls::MulticastUnbind& call, Retired& retired);
  void retire(const calls::MemFree& call, Retired& retired);
  void retire(const calls::MemFreeAsync& call, Retired& retired);
  void retire(const calls::IpcCloseMemHandle& call, Retired& retired);
  void retire(const calls::MemPoolDestroy& call, Retired& retired);
  void retire(const calls::DestroyExternalMemory& call, Retired& retired);
  void retire(const calls::DestroyExternalSemaphore& call, Retired& retired);
  /// What belongs to the context, or may do so. Memory of cuMemCreate and addresses do not.
  void retire(const calls::CtxDestroy& call, Retired& retired);
  void retire(const calls::DevicePrimaryCtxRelease& call, Retired& retired);
  void retire(const calls::DevicePrimaryCtxReset& call, Retired& retired);
  template <class CallStruct>
  Retired retire(const CallStruct& call) requires requires(Model& model, Retired& retired) {
    model.retire(call, retired);
  }
  {
    Retired retired;
    retire(call, retired);
    return retired;
  }
  /// retire() and bury() in one, for a driver that hardly ever refuses; unbury() and restore() are
  /// due when it does.
  [[gnu::hot]] void give_up(const calls::MemRelease& call, Origin at, Retired& retired);
  [[gnu::hot]] void give_up(const calls::MemUnmap& call, Origin at, Retired& retired);
  [[gnu::hot]] void give_up(const calls::MemAddressFree& call, Origin at, Retired& retired);
  /// The driver refused: what retire() took is back as it was. `at` is the refused call.
  [[gnu::cold]] void restore(Retired&& retired, Origin at = {});
  /// The driver refused a free that broke a rule, so that nothing was retired for it: the program
  /// has given the reservation up all the same.
  [[gnu::cold]] void note_refused(const calls::MemAddressFree& call, Origin at);
  /// The driver accepted: what retire() took becomes history.
  void bury(const Retired& retired, Origin at);
  /// Takes back what bury() did for a call that gives up reservations, mappings or references: it
  /// was buried before the driver answered, and the driver refused. restore() is due next.
  [[gnu::cold]] void unbury(const Retired& retired, Origin at);

  // --- Recording what a successful call made; reads its out-parameters. Failed calls make nothing.
  [[gnu::hot]] void commit(const calls::MemAddressReserve& call, Origin at);
  [[gnu::hot]] void commit(const calls::MemCreate& call, const Facts& facts, Origin at);
  [[gnu::hot]] void commit(const calls::MemMap& call, Origin at);
  [[gnu::hot]] void commit(const calls::MemSetAccess& call, Origin at);
  /// The same before the driver answered, for a call that breaks no rule: what it makes has no name
  /// that the driver chooses. unrecord() is due when the driver refuses.
  [[gnu::hot]] void record(const calls::MemMap& call, Origin at, Recorded& recorded);
  [[gnu::hot]] void record(const calls::MemSetAccess& call, Origin at, Recorded& recorded);
  [[gnu::cold]] void unrecord(const calls::MemMap& call, Origin at, const Recorded& recorded);
  [[gnu::cold]] void unrecord(const calls::MemSetAccess& call, Origin at, const Recorded& recorded);

  void commit(const calls::MemExportToShareableHandle& call, Origin at);
  void commit(const calls::MemGetHandleForAddressRange& call, Origin at);
  [[gnu::hot]] void commit(const calls::MemRetainAllocationHandle& call, Origin at);
  /// `known` carries what the caller could learn of the imported memory: size, granularity and
  /// prop where prop_known; the rest is ignored.
  void commit(const calls::MemImportFromShareableHandle& call, const Allocation& known, Origin at);
  /// `facts` name the allocation (its base, its size) and the context, where they are known.
  void commit(const calls::IpcGetMemHandle& call, const Facts& facts, Origin at);
  void commit(const calls::IpcOpenMemHandle& call, const Facts& facts, Origin at);
  void commit(const calls::MemPoolCreate& call, Origin at);
  /// `facts` say where the pool's memory lies and how large that of the pointer is, where known.
  void commit(const calls::MemPoolImportFromShareableHandle& call, const Facts& facts, Origin at);
  void commit(const calls::MemPoolSetAccess& call, const Facts& facts, Origin at);
  void commit(const calls::MemPoolExportToShareableHandle& call, Origin at);
  void commit(const calls::MemAllocFromPoolAsync& call, const Facts& facts, Origin at);
  void commit(const calls::MemPoolImportPointer& call, const Facts& facts, Origin at);
  void commit(const calls::DeviceSetMemPool& call, Origin at);

  void commit(const calls::MulticastCreate& call, const Facts& facts, Origin at);
  void commit(const calls::MulticastAddDevice& call, Origin at);
  template <BindsMulticast CallStruct>
  void commit(const CallStruct& call, Origin at) {
    commit(bind_of(call), at);
  }
  void commit(const MulticastBind& bind, Origin at);
  /// An import turned out to be a multicast object; `known` is what is known of it.
  void commit_multicast_import(MulticastObject known, Origin at);
  void commit(const calls::ImportExternalMemory& call, const Facts& facts, Origin at);
  void commit(const calls::ExternalMemoryGetMappedBuffer& call, Origin at);
  void commit(const calls::ImportExternalSemaphore& call, const Facts& facts, Origin at);
  void commit(const calls::SignalExternalSemaphoresAsync& call, Origin at);
  void commit(const calls::MemMapArrayAsync& call, Origin at);

  /// The process closed this descriptor itself.
  void close_export(int fd) { exports_.erase(fd); }
  /// A child of fork starts from nothing; the platform stays.
  void clear();

 private:
  // retire(), and bury() as well where `at` is not null.
  [[gnu::hot]] void take(const calls::MemRelease& call, const Origin* at, Retired& retired);
  [[gnu::hot]] void take(const calls::MemUnmap& call, const Origin* at, Retired& retired);
  [[gnu::hot]] void take(const calls::MemAddressFree& call, const Origin* at, Retired& retired);
  // One reference or mapping of it less: `before` in its count, and its end if that was the last.
  [[gnu::hot]] void lose(Allocation& a, std::uint32_t Allocation::*count, Origin Allocation::*when,
                         const Origin* at, Retired& retired);
  void retire_ipc(Address freed, Retired& retired);
  void restore_ipc(const RarelyRetired& retired);
  [[gnu::cold]] void bury(const RarelyRetired& rare, Origin at);
  void bury_ipc(const RarelyRetired& retired, Origin at);
  void retire_pool_memory(Address base, Retired& retired);
  bool bounded(const CUmemLocation& place) const;
  void restore_pools(const RarelyRetired& retired);
  void bury_pools(const RarelyRetired& retired, Origin at);
  void retire_external_buffer(Address base, Retired& retired);
  void restore(const ExternalRetired& retired);
  void bury(const ExternalRetired& retired, Origin at);
  // The reservation that holds the address, to write.
  Reservation* own_reservation(Address address);
  void note_unmapped(const Mapping& m, Origin at);
  struct Ending;  // which context
  void retire(const Ending& ending, Retired& retired);
  void retire_pools(int device, EndedContext& taken);
  void restore(const EndedContext& taken);
  void restore_pools(const EndedContext& taken);
  /// A successful import made the descriptor the driver's.
  void give_away(int fd, Origin at);
  /// A call opened a descriptor: whatever had its number before has been closed.
  void opened(int fd);

  // The object of a handle that a multicast call accepted: so it is one, however it was made.
  MulticastObject& known_multicast(Handle handle, Origin at);
  // Takes out what an allocation that ends has to do with multicast.
  void end_multicast(Handle handle, Retired& retired);
  void restore(RetiredMulticast&& retired);
  [[gnu::hot]] const Allocation* search(Handle handle) const;
  Allocation* own(Handle handle) { return const_cast<Allocation*>(allocation(handle)); }
  // The allocation has neither references nor mappings any more.
  [[gnu::hot]] void end_allocation(Handle handle, Retired& retired);

  // What the seven calls of a block's life look at lies together: a driver call leaves cold caches.
  // The first three remember where const searches ended: readers need the owner's lock as writers
  // do.
  mutable Finger<std::map<Address, Mapping>> last_mapping_;
  mutable Finger<std::map<Address, Reservation>> last_reservation_;
  mutable LastFound<Allocation> last_allocation_;
  std::map<Address, Mapping> mappings_;
  std::map<Address, Reservation> reservations_;
  std::unordered_map<Handle, Allocation> allocations_;
  SpareNodes<std::map<Address, Mapping>> spare_mappings_;
  SpareNodes<std::map<Address, Reservation>> spare_reservations_;
  SpareNodes<std::unordered_map<Handle, Allocation>> spare_allocations_;
  MulticastObjects multicasts_;
  TileState tiles_;
  Platform platform_;
  Tombstones tombstones_;
  std::unordered_map<int, Export> exports_;
  IpcState ipc_;
  PoolState pools_;
  ExternalState external_;
  EndsMeanwhile ends_meanwhile_;
};

}  // namespace cuvmm
