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
#include "spec/platform.h"
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

/// [base, base + size) backed by an allocation from its start.
struct Mapping {
  Address base = 0;
  Size size = 0;
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
  std::vector<Reservation> reservations;
  std::vector<Mapping> mappings;
  std::vector<Allocation> allocations;  ///< as they were before; restore() puts them back
  bool released = false;                ///< a reference of allocations[0] was dropped
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

  // --- Taking away. Calls that give nothing up have no overload.
  Retired retire(const calls::MemRelease& call);
  Retired retire(const calls::MemUnmap& call);
  Retired retire(const calls::MemAddressFree& call);
  Retired retire(const calls::DestroyExternalMemory& call);
  Retired retire(const calls::DestroyExternalSemaphore& call);
  Retired retire(const calls::MemFree& call);  ///< of an external memory's buffer
  Retired retire(const calls::MemFreeAsync& call);
  template <class CallStruct>
  Retired retire(const CallStruct&) {
    return {};
  }
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
  void restore(const ExternalRetired& retired);
  void bury(const ExternalRetired& retired, Origin at);
  /// A successful import made the descriptor the driver's.
  void give_away(int fd, Origin at);

  Platform platform_;
  std::map<Address, Reservation> reservations_;
  std::map<Address, Mapping> mappings_;
  std::unordered_map<Handle, Allocation> allocations_;
  std::unordered_map<int, Export> exports_;
  ExternalState external_;
  TileState tiles_;
  Tombstones tombstones_;
};

}  // namespace cuvmm
