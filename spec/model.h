// The model: one process's view of the VMM API, as a pure state machine.
//
// No I/O, no locks, no clock: the shim calls it under its lock, the emulator under its own. Three
// steps per call: check() (const) says what is wrong with it; retire() takes away the names that
// the call gives up, before it is forwarded, so that a name the driver reuses at once is never
// confused; then commit() records what a successful call made, or restore() puts back what a
// refused one kept.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "api/calls.h"
#include "spec/external_state.h"
#include "spec/few.h"
#include "spec/finger.h"
#include "spec/ipc_state.h"
#include "spec/multicast_state.h"
#include "spec/platform.h"
#include "spec/pool_state.h"
#include "spec/spare_nodes.h"
#include "spec/tile_state.h"
#include "spec/tombstones.h"
#include "spec/violation.h"

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
  Origin
      free_refused;  ///< a cuMemAddressFree of it that the driver refused: the program gave it up
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

/// Access per location as bit masks: bit d for device d (0..62), kHostBit for every host location.
struct AccessMask {
  static constexpr std::uint64_t kHostBit = std::uint64_t{1} << 63;
  std::uint64_t read = 0;
  std::uint64_t write = 0;
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
  Origin made;
};

/// What retire() took out, for restore() or for the tombstones.
struct Retired {
  Few<Reservation> reservations;
  Few<Mapping> mappings;
  Few<Allocation> allocations;  ///< as they were before; restore() puts them back
  bool released = false;        ///< a reference of allocations[0] was dropped
  RetiredMulticast multicast;
  std::vector<IpcExport> ipc_exports;  ///< of memory that was freed
  std::vector<IpcOpen> ipc_opens;      ///< one open of each was closed
  std::vector<Pool> pools;
  std::vector<PoolMemory> pool_memory;
  ExternalRetired external;
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
  const Reservation* reservation_at(Address address) const;
  /// The mapping that holds `address`, or null.
  const Mapping* mapping_at(Address address) const;
  /// The first mapping that ends after `address`, as an iterator of mappings().
  std::map<Address, Mapping>::const_iterator first_mapping_after(Address address) const;
  const Allocation* allocation(Handle handle) const;
  const MulticastObjects& multicasts() const { return multicasts_; }
  const MulticastObject* multicast(Handle handle) const;
  /// The memory that a bind names: its handle and the offset there; handle 0 when it is unknown.
  std::pair<Handle, Size> memory_of(const MulticastBind& bind) const;
  /// The device whose memory a bind names, -1 unknown.
  int device_of(const MulticastBind& bind) const;

  // --- Taking away. Calls that give nothing up have no overload.
  Retired retire(const calls::MemRelease& call);
  Retired retire(const calls::MemUnmap& call);
  Retired retire(const calls::MemAddressFree& call);
  Retired retire(const calls::MulticastUnbind& call);
  Retired retire(const calls::MemFree& call);
  Retired retire(const calls::MemFreeAsync& call);
  Retired retire(const calls::IpcCloseMemHandle& call);
  Retired retire(const calls::MemPoolDestroy& call);
  Retired retire(const calls::DestroyExternalMemory& call);
  Retired retire(const calls::DestroyExternalSemaphore& call);
  /// The driver refused: what retire() took is back as it was. `at` is the refused call.
  void restore(Retired&& retired, Origin at = {});
  /// The driver accepted: what retire() took becomes history.
  void bury(Retired&& retired, Origin at);

  // --- Recording what a successful call made; reads its out-parameters. Failed calls make nothing.
  void commit(const calls::MemAddressReserve& call, Origin at);
  void commit(const calls::MemCreate& call, const Facts& facts, Origin at);
  void commit(const calls::MemMap& call, Origin at);
  void commit(const calls::MemSetAccess& call, Origin at);
  void commit(const calls::MemExportToShareableHandle& call, Origin at);
  void commit(const calls::MemRetainAllocationHandle& call, Origin at);
  /// `known` carries what the caller could learn of the imported memory: size, granularity and
  /// prop where prop_known; the rest is ignored.
  void commit(const calls::MemImportFromShareableHandle& call, const Allocation& known, Origin at);
  /// `facts` name the allocation (its base, its size) and the context, where they are known.
  void commit(const calls::IpcGetMemHandle& call, const Facts& facts, Origin at);
  void commit(const calls::IpcOpenMemHandle& call, const Facts& facts, Origin at);
  void commit(const calls::MemPoolCreate& call, Origin at);
  void commit(const calls::MemPoolImportFromShareableHandle& call, Origin at);
  void commit(const calls::MemPoolExportToShareableHandle& call, Origin at);
  void commit(const calls::MemAllocFromPoolAsync& call, Origin at);
  void commit(const calls::MemPoolImportPointer& call, Origin at);
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
  void commit(const calls::ImportExternalSemaphore& call, Origin at);
  void commit(const calls::SignalExternalSemaphoresAsync& call, Origin at);
  void commit(const calls::MemMapArrayAsync& call, Origin at);

  /// The process closed this descriptor itself.
  void close_export(int fd) { exports_.erase(fd); }
  /// A child of fork starts from nothing; the platform stays.
  void clear();

 private:
  void retire_ipc(Address freed, Retired& retired);
  void restore_ipc(const Retired& retired);
  void bury_ipc(const Retired& retired, Origin at);
  void retire_pool_memory(Address base, Retired& retired);
  void restore_pools(const Retired& retired);
  void bury_pools(const Retired& retired, Origin at);
  void retire_external_buffer(Address base, Retired& retired);
  void restore(const ExternalRetired& retired);
  void bury(const ExternalRetired& retired, Origin at);
  /// A successful import made the descriptor the driver's.
  void give_away(int fd, Origin at);

  Platform platform_;
  std::map<Address, Reservation> reservations_;
  std::map<Address, Mapping> mappings_;
  std::unordered_map<Handle, Allocation> allocations_;
  // The object of a handle that a multicast call accepted: so it is one, however it was made.
  MulticastObject& known_multicast(Handle handle, Origin at);
  // Takes out what an allocation that ends has to do with multicast.
  void end_multicast(Handle handle, RetiredMulticast& retired);
  void restore(RetiredMulticast&& retired);

  std::unordered_map<int, Export> exports_;
  MulticastObjects multicasts_;
  IpcState ipc_;
  PoolState pools_;
  ExternalState external_;
  TileState tiles_;
  Tombstones tombstones_;
  // They remember where const searches ended: readers need the owner's lock as writers do.
  mutable Finger<std::map<Address, Reservation>> last_reservation_;
  mutable Finger<std::map<Address, Mapping>> last_mapping_;
  SpareNodes<std::map<Address, Reservation>> spare_reservations_;
  SpareNodes<std::map<Address, Mapping>> spare_mappings_;
  SpareNodes<std::unordered_map<Handle, Allocation>> spare_allocations_;
};

}  // namespace cuvmm
