// SPDX-License-Identifier: Apache-2.0
// The emulated machine: one per process, behind one lock.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/base/life.h"
#include "emulator/base/options.h"
#include "emulator/context/context.h"
#include "emulator/context/stream.h"
#include "emulator/machine/address_space.h"
#include "emulator/machine/physical.h"
#include "emulator/machine/team.h"
#include "emulator/memory/host_chunks.h"
#include "emulator/memory/managed.h"
#include "emulator/pool/pools.h"
#include "emulator/share/external.h"
#include "rulebook/model/model.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::emulator {

struct Mutation;

/// One emulated GPU.
struct Device {
  std::uint64_t total = 0;  ///< bytes of memory
  std::uint64_t used = 0;   ///< bytes that allocations hold now
};

/// Memory of cuMemAlloc and its kin: an address range with one physical allocation behind it.
struct PlainAllocation {
  Address base = 0;
  Size size = 0;  ///< as asked for
  Context* context = nullptr;
  Physical memory;
  Size offset = 0;  ///< into `memory`, of its first byte: a buffer of external memory
  bool external = false;
  /// The name under which other processes find it, or under which this one found it elsewhere.
  IpcBytes ticket{};
  unsigned opens = 0;  ///< cuIpcOpenMemHandle minus cuIpcCloseMemHandle; 0: it is no opened memory
  std::uint64_t pool = 0;    ///< the pool that it came from, or was imported through; 0 none
  bool imported = false;     ///< through that pool
  bool on_cpu = false;       ///< the CPU reaches it at its address
  bool sync_memops = false;  ///< as set; operations are synchronous anyway
  std::shared_ptr<ManagedAdvice> managed{};  ///< null: it is no managed memory

  /// What a legacy IPC handle can name.
  bool ipc_capable() const { return opens == 0 && pool == 0 && !external && !managed; }
  bool on_device() const { return memory.prop().location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
  /// The granules of address space that it holds.
  Address region() const { return base - offset % AddressSpace::kGranule; }
  Size region_size() const { return size + offset % AddressSpace::kGranule; }
};

/// Page-locked host memory: the CPU's own address is the device address.
struct HostBlock {
  Address base = 0;
  Size size = 0;
  Context* context = nullptr;
  unsigned flags = 0;
  bool registered = false;  ///< cuMemHostRegister: the memory is the program's
  std::uint64_t id = 0;
  bool sync_memops = false;    ///< as set
  HostChunks::Name chunk = 0;  ///< that it was cut from; 0: registered memory
};

/// Everything the driver knows. Whoever touches a member holds `mutex`.
class Emulator {
 public:
  /// Never destroyed: calls may come from the program's destructors and from threads that outlive
  /// main.
  static Emulator& get();

  std::mutex mutex;
  Profile profile;
  Model model;
  AddressSpace space;
  std::vector<Device> devices;
  Contexts contexts;
  Streams streams;
  Pools pools;
  std::unordered_map<Handle, Physical> physical;
  /// Multicast objects; each has a placeholder in `physical` as well.
  std::unordered_map<Handle, std::shared_ptr<Team>> teams;
  std::atomic<bool> has_teams{false};  ///< there ever was one; read without the lock
  std::chrono::milliseconds multicast_timeout{0};
  std::map<Address, PlainAllocation> plain;
  std::map<Address, HostBlock> host_blocks;
  HostChunks host_chunks;
  std::uint64_t next_host_id = std::uint64_t{1} << 32;  ///< apart from ids of physical memory
  ExternalObjects external;
  std::map<Address, Size> cpu_visible;  ///< HOST mappings that are really mapped at their address

  /// What cuInit does; idempotent.
  CUresult initialize();

  /// What a call answers that finds the driver not ready(); SUCCESS when it became so, by another
  /// thread or because a mistake lets the call through, which then initialises. Takes the lock,
  /// but not where the process forked or ends: its holder may be a thread that never goes on.
  CUresult unready(EntryPoint entry);

  /// What cuDriverGetVersion answers, cuInit or not, in a child of fork too; takes the lock.
  CUresult driver_version(int& version);

  /// The deliberate mistake that the emulator makes (emulator/entry/mistake.h); null: none.
  const Mutation* mistake() const { return mistake_; }

  int device_count() const { return static_cast<int>(devices.size()); }
  bool valid_device(int device) const { return device >= 0 && device < device_count(); }
  bool can_reach(int device, int peer) const;

  /// What the checks may know of a call by this thread: initialised, the context and its device.
  Facts facts() const;
  /// The calling thread's live context, or null.
  Context* current_context() const;
  /// What a call answers that needs a context where current_context() is null: one that ended and
  /// is still current is CONTEXT_IS_DESTROYED.
  CUresult no_context() const;

  const PlainAllocation* plain_at(Address address) const;
  const HostBlock* host_block_at(Address address) const;
  /// A new handle value; values of freed allocations come back, as they do on a real driver.
  Handle new_handle();
  /// Frees the physical memory of handles that the model no longer knows.
  void drop_if_dead(Handle handle);
  /// Lets go of released memory of which no exported descriptor is left: until then it counts as
  /// used.
  void drop_unheld() const;
  /// The properties last seen behind a handle that is dead (a driver reads freed memory there).
  std::optional<CUmemAllocationProp> stale_prop(Handle handle) const;

  /// Allocates device memory for cuMemAlloc in `context`; OUT_OF_MEMORY when it does not fit.
  CUresult allocate_plain(Context& context, Size size, Address* address);
  /// As allocate_plain, with `prop` and on behalf of `pool` (0 none).
  CUresult allocate_memory(Context* context, Size size, const CUmemAllocationProp& prop,
                           std::uint64_t pool, Address* address);
  /// Allocates managed memory in `context`, which the CPU reaches at its address; of `pool`, unless
  /// that is null.
  CUresult allocate_managed(Context& context, Size size, const Pool* pool, Address* address);
  /// Gives memory of another process an address; OUT_OF_MEMORY when none is left.
  PlainAllocation* adopt(Context* context, Size size, Physical&& memory, const IpcBytes& ticket,
                         Size offset = 0);
  /// Ends an allocation, whatever made it.
  void end_plain(Address base);
  /// Ends every plain allocation that belongs to a context.
  void free_plain_of(const Context& context);

  /// The host bytes behind [address, address + *run), with *run cut to what is contiguous: a
  /// mapping, a plain allocation, or host memory itself. Null: device address space with nothing
  /// behind it, or the host ran out of memory.
  char* resolve(Address address, Size* run);
  /// The multicast object mapped at an address, its offset there, and *run cut to the mapping; null
  /// when there is none.
  const Team* team_at(Address address, Size* run, Size* offset) const;

 private:
  CUresult add_plain(PlainAllocation&& allocation, Address* address);
  void give_back(const PlainAllocation& allocation);
  Emulator() = default;
  CUresult load();
  CUresult before_init(EntryPoint entry);
  bool load_profile_once(const Options& options);

  std::atomic<bool> profile_loaded_{false};
  const Mutation* mistake_ = nullptr;
  /// Released here, and held by an exported descriptor when it was last looked at. Each keeps a
  /// descriptor; more than so many are not counted.
  mutable std::vector<Physical> held_;
  static constexpr std::size_t kMostHeld = 256;
  std::vector<Handle> free_handles_;
  Handle last_handle_ = 0;
  static constexpr std::size_t kStale = 64;
  std::pair<Handle, CUmemAllocationProp> stale_[kStale] = {};
  std::size_t next_stale_ = 0;
};

}  // namespace cuvmm::emulator
