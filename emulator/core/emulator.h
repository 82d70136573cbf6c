// SPDX-License-Identifier: Apache-2.0
// The emulated machine: one per process, behind one lock.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "emulator/base/life.h"
#include "emulator/base/options.h"
#include "emulator/machine/address_space.h"
#include "emulator/machine/devices.h"
#include "emulator/machine/physical.h"
#include "emulator/machine/team.h"
#include "emulator/objects/capture.h"
#include "emulator/objects/context.h"
#include "emulator/objects/coredumps.h"
#include "emulator/objects/graph_memory.h"
#include "emulator/objects/graphs.h"
#include "emulator/objects/memory/arrays.h"
#include "emulator/objects/memory/cpu_view.h"
#include "emulator/objects/memory/endpoints.h"
#include "emulator/objects/memory/external.h"
#include "emulator/objects/memory/host_blocks.h"
#include "emulator/objects/memory/physical_memory.h"
#include "emulator/objects/memory/plain_allocations.h"
#include "emulator/objects/memory/pools.h"
#include "emulator/objects/memory/teams.h"
#include "emulator/objects/memory/textures.h"
#include "emulator/objects/modules.h"
#include "emulator/objects/queues.h"
#include "emulator/objects/stream.h"
#include "rulebook/model/model.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::emulator {

struct Mutation;

/// The state of the driver: a plain composition. Each member but the profile owns one kind of
/// object and keeps it in order by itself, behind private data, so that the entry points of every
/// area may use the member directly; a getter for each would guard nothing. An operation on several
/// members is a function of this class, or of an area.
///
/// Code that touches a member holds `mutex`. Entry points get a reference together with the lock,
/// by locked() and its relatives (emulator/core/locked.h). A function that needs no lock says so.
class Emulator {
 public:
  /// Never destroyed: calls may come from the program's destructors and from threads that outlive
  /// main.
  static Emulator& get();

  std::mutex mutex;
  Profile profile;
  Model model;
  AddressSpace space;
  Devices devices;
  Contexts contexts;
  Streams streams;
  Queues queues;
  Captures captures{streams};
  Pools pools;
  PhysicalMemory physical;
  Teams teams;
  Endpoints endpoints;
  CpuView cpu_view{space};
  PlainAllocations plain{space};
  Modules modules{plain};
  HostBlocks host;
  Arrays arrays;
  Textures textures;
  Surfaces surfaces;
  ExternalObjects external;
  Coredumps coredumps;
  Graphs graphs;
  GraphMemory graph_memory;

  /// Does the work of cuInit; idempotent.
  CUresult initialize();

  /// The answer to a call that finds the driver not ready(). SUCCESS when the driver became ready
  /// meanwhile: another thread called cuInit, or a deliberate mistake lets the call through, and
  /// the call then initialises. Takes the lock, but not in a process that forked or ends, because
  /// the holder of the lock may be a thread that never continues.
  CUresult unready(EntryPoint entry);

  /// The answer of cuDriverGetVersion, before cuInit and in a child of fork too; takes the lock.
  CUresult driver_version(int& version);

  /// The deliberate mistake that the emulator makes (emulator/core/mistake.h); null: no mistake.
  const Mutation* mistake() const { return mistake_; }

  int device_count() const { return devices.count(); }
  /// The devices of the machine, of which this process may see only some.
  int machine_devices() const { return machine_devices_; }
  Outage outage() const { return outage_; }
  /// Whether a trouble of the fabric leaves the driver without one of these handle types.
  bool lacks(std::uint64_t handle_types) const {
    return outage_ == Outage::kNoFabric && (handle_types & CU_MEM_HANDLE_TYPE_FABRIC) != 0;
  }
  bool valid_device(int device) const { return devices.valid(device); }
  /// How long a call waits for the rest of a multicast team.
  std::chrono::milliseconds multicast_timeout() const { return multicast_timeout_; }
  /// Whether work that fails takes its device from the process.
  bool faults_of_devices() const { return faults_of_devices_; }
  /// Whether kernels with PTX run, and how many instructions a launch may take.
  bool runs_kernels() const { return runs_kernels_; }
  std::uint64_t kernel_steps() const { return kernel_steps_; }
  const KernelChecks& kernel_checks() const { return kernel_checks_; }
  bool can_reach(int device, int peer) const;

  /// The facts that the checks may use for a call by this thread: whether the driver is
  /// initialised, the context and its device.
  Facts facts() const;
  /// The calling thread's live context, or null.
  Context* current_context() const;
  /// The answer to a call that needs a context while current_context() is null:
  /// CONTEXT_IS_DESTROYED where the current context has ended, and else INVALID_CONTEXT.
  CUresult no_context() const;

  /// Bytes of a device that allocations outside of graphs can have: the device keeps idle memory of
  /// graphs until the program trims it (cuDeviceGraphMemTrim).
  std::uint64_t free_memory(int device);
  /// Frees the physical memory of handles that the model no longer knows.
  void drop_if_dead(Handle handle);
  /// Allocates device memory for cuMemAlloc in `context`; OUT_OF_MEMORY when it does not fit.
  CUresult allocate_plain(Context& context, Size size, Address* address);
  /// As allocate_plain, with `prop` and on behalf of `pool` (0: no pool). The caller tells the pool
  /// of the allocation.
  CUresult allocate_memory(Context* context, Size size, const CUmemAllocationProp& prop,
                           std::uint64_t pool, Address* address);
  /// Allocates managed memory in `context`, which the CPU reaches at its address; the memory
  /// belongs to `pool`, unless that is null.
  CUresult allocate_managed(Context& context, Size size, const Pool* pool, Address* address);
  /// Gives memory of another process an address; OUT_OF_MEMORY when no address is left.
  PlainAllocation* adopt(Context* context, Size size, Physical&& memory, const IpcBytes& ticket,
                         Size offset = 0);
  /// Ends every plain allocation that belongs to a context.
  void free_plain_of(const Context& context);

  /// The host bytes behind [address, address + *run), with *run cut to the contiguous part: a
  /// mapping, a plain allocation, or host memory itself. Null: the address is device address space
  /// without memory behind it, or the host has no memory left.
  /// The bytes count as written unless the caller `reads` only.
  char* resolve(Address address, Size* run, bool reads = false);
  /// The memory behind an address, with the address's offset in it; null where resolve() is null,
  /// and for the program's own memory.
  Physical* memory_at(Address address, Size* run, Size* offset);
  /// The multicast object mapped at an address, with *offset set to its offset there and *run cut
  /// to the mapping; null when no multicast object is mapped there.
  const Team* team_at(Address address, Size* run, Size* offset) const;

 private:
  CUresult add_plain(PlainAllocation&& allocation, Address* address);
  Emulator() = default;
  CUresult load();
  CUresult before_init(EntryPoint entry);
  bool load_profile_once(const Options& options);

  std::atomic<bool> profile_loaded_{false};
  const Mutation* mistake_ = nullptr;
  std::chrono::milliseconds multicast_timeout_{0};
  bool faults_of_devices_ = false;
  bool runs_kernels_ = true;
  KernelChecks kernel_checks_;
  std::uint64_t kernel_steps_ = 0;
  int machine_devices_ = 0;
  Outage outage_ = Outage::kNone;
};

}  // namespace cuvmm::emulator
