// SPDX-License-Identifier: Apache-2.0
// Facts about the machine that the rules need, and facts that a caller may look up for one call.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "api/location.h"
#include "rulebook/base/found_work.h"

namespace cuvmm {

/// Facts about the machine. A default value means unknown: then no violation is certain.
struct Platform {
  int device_count = -1;
  std::uint64_t host_page = 4096;  ///< bytes
  std::uint64_t reserve_granularity =
      0;  ///< bytes; the alignment that this driver demands of a reservation, 0 unknown
  std::uint64_t max_reservation = 0;  ///< bytes; larger ones are refused, 0 unknown
  std::uint32_t handle_types = 0;     ///< mask of exportable CUmemAllocationHandleType, 0 unknown
  bool fabric_channel_known = false;
  bool fabric_channel = false;       ///< an IMEX channel is accessible to this process
  std::uint64_t numa_nodes = 0;      ///< bit n: node n can back HOST_NUMA memory; 0 unknown
  std::vector<std::uint64_t> reach;  ///< per device: mask of devices whose memory it can access
  bool multicast_known = false;
  std::uint64_t multicast = 0;  ///< mask of devices that support multicast (attribute 132)
  int driver_version = 0;       ///< as cuDriverGetVersion says it, 0 unknown
  /// Per device: how many locality domains it has; unknown for 0, and for a device that is not
  /// listed.
  std::vector<int> locality_domains;
  bool localized_rdma_known = false;
  std::uint64_t localized_rdma =
      0;  ///< devices whose localized memory RDMA reaches (attribute 161)
  bool managed_known = false;
  bool managed = false;  ///< every device reads managed memory while the host does (attribute 89)
  bool host_multinode_known = false;
  bool host_multinode = false;  ///< a device shares memory of NUMA nodes with other machines (143)
  /// Mask of the devices that bind memory to a multicast object at multiples of kUnalignedBind
  /// (compute capability 10.7 and more, drivers of CUDA 13.4 and more).
  std::uint64_t unaligned_binds = 0;
  /// Which devices can use logical endpoints: masks of devices (attributes 153 to 156).
  struct Endpoints {
    bool known = false;  ///< the driver answers the attributes
    std::uint64_t unicast = 0;
    std::uint64_t multicast = 0;
    std::uint64_t counted = 0;
    std::uint64_t on_owner = 0;  ///< a unicast endpoint can be used on the device that owns it
    bool handle_types_known = false;
    std::uint32_t handle_types = 0;  ///< that some device can export (attribute 158)
    bool none() const { return known && (unicast | multicast) == 0; }
  };
  Endpoints endpoints;
  /// A clique of a fabric: its CUcliqueType, and its number among the cliques of that type.
  struct Clique {
    std::uint32_t type = 0;
    std::uint32_t id = 0;
  };
  std::vector<std::vector<Clique>> cliques;  ///< per device; empty: unknown
  /// cuvmm sees everything the process does, so an object that the model does not know does not
  /// exist. True in the emulator, false in the shim, where other libraries have private routes to
  /// the driver.
  bool complete = false;
};

/// How many locality domains a device has, 0 unknown.
inline int domains_of(const Platform& platform, int device) {
  const auto at = static_cast<std::size_t>(device);
  return device >= 0 && at < platform.locality_domains.size() ? platform.locality_domains[at] : 0;
}

/// Where memory lies that a program asked for at `place`: the only domain of a device is the device
/// itself.
inline CUmemLocation settled(const CUmemLocation& place, const Platform& platform) {
  const LocalityDomain at = locality_domain(place);
  const bool whole = is_domain(place) && at.domain == 0 && domains_of(platform, at.device) == 1;
  return whole ? make_location(kLocationDevice, at.device) : place;
}

/// Whether the driver may know locality domains. An older driver takes them for an unknown type.
inline bool has_domains(const Platform& platform) {
  constexpr int kSince = 13040;
  return platform.driver_version == 0 || platform.driver_version >= kSince;
}

/// Whether a NUMA node can hold memory for devices.
enum class HoldsMemory : std::uint8_t { kYes, kPerhaps, kNo };
/// Only the driver knows which of the existing nodes can. So the answer for an existing node is
/// `kPerhaps`, unless the driver has another reason to refuse the call (`other_reason`).
inline HoldsMemory holds_memory(const Platform& platform, int node, bool other_reason) {
  const bool listed = node >= 0 && node < 64 && (platform.numa_nodes >> node & 1);
  if (node < 0 || (platform.numa_nodes != 0 && !listed)) return HoldsMemory::kNo;
  const bool sure = listed && (platform.complete || other_reason);
  return sure ? HoldsMemory::kYes : HoldsMemory::kPerhaps;
}

/// Whether RDMA certainly does not reach memory at this place, except by way of PCIe.
inline bool unreachable_by_rdma(const CUmemLocation& place, const Platform& platform) {
  const LocalityDomain at = locality_domain(place);
  return is_domain(place) && domains_of(platform, at.device) > 1 && platform.localized_rdma_known &&
         at.device < 64 && !(platform.localized_rdma >> at.device & 1);
}

/// The known properties of imported memory.
struct ImportedMemory {
  std::uint64_t size = 0;         ///< bytes, 0 unknown
  std::uint64_t granularity = 0;  ///< MINIMUM granularity for its properties, bytes, 0 unknown
  CUmemAllocationProp prop{};
  bool prop_known = false;
};

/// Facts that the caller looked up for one call, by area. Default values mean unknown. In the shim
/// FactFinder fills each area's part, in the emulator add_facts().
struct Facts {
  enum class Answer : std::uint8_t { kUnknown, kNo, kYes };
  /// The meaning of the 64 bytes of an IPC handle, or of an exported pool pointer.
  enum class Token : std::uint8_t {
    kUnknown,
    kValid,
    kForged,         ///< no process made them
    kEnded,          ///< the object that they name was freed
    kExporterEnded,  ///< the process that made them has ended
    kOwn,            ///< this process made them, whether or not their object is alive
  };
  static constexpr int kUnknownDevice = -1;

  /// The context and the devices of the call.
  struct Place {
    Answer context = Answer::kUnknown;  ///< a context is current
    std::uint64_t context_id = 0;       ///< the current context's handle, 0 unknown
    int device = kUnknownDevice;        ///< device of the context that performs a copy or fill
    int peer_device = kUnknownDevice;   ///< device of the source context of a peer copy
    /// The program made the call under a name for per-thread default streams: NULL is the thread's
    /// stream.
    bool per_thread = false;
  };
  struct Unicast {
    std::uint64_t granularity = 0;                  ///< MINIMUM for the call's prop, bytes
    std::uint64_t free_memory = ~std::uint64_t{0};  ///< bytes that cuMemCreate could still allocate
    /// The handle value is an address that can be read. kNo: the driver would crash on the value.
    Answer handle_readable = Answer::kUnknown;
  };
  struct Multicast {
    std::uint64_t granularity = 0;  ///< MINIMUM for the call's prop, bytes
    std::uint64_t recommended = 0;  ///< the RECOMMENDED one, bytes
    /// Mask of the devices that any process added to the call's multicast object; nothing: unknown,
    /// but for the devices that this process added.
    std::optional<std::uint64_t> team;
    unsigned hidden = 0;  ///< devices of the team that this process does not see
  };
  /// Facts for a call about a logical endpoint.
  struct Endpoint {
    std::uint64_t alignment = 0;  ///< bindAlignment for the call's prop, bytes, 0 unknown
    std::uint64_t max_size = 0;   ///< bytes, 0 unknown
    /// Mask of the devices that any process added to the call's endpoint.
    std::optional<std::uint64_t> team;
    unsigned hidden = 0;                     ///< devices of it that this process does not see
    Answer handle_valid = Answer::kUnknown;  ///< the bytes of an import name an endpoint
    /// CUlogicalEndpointType of the imported endpoint, 0 unknown.
    unsigned type = 0;
    unsigned devices = 0;    ///< for a multicast endpoint, 0 unknown
    std::uint64_t size = 0;  ///< bytes, 0 unknown
  };
  /// Facts for a call that imports through a descriptor.
  struct Sharing {
    /// The descriptor is open and refers to an exported object.
    Answer descriptor_valid = Answer::kUnknown;
    /// kNo: the descriptor is open, but stands for another kind of object than the call imports.
    Answer descriptor_kind = Answer::kUnknown;
    Token fabric = Token::kUnknown;  ///< the bytes of a fabric handle
    ImportedMemory imported;         ///< of cuMemImportFromShareableHandle, after its success
  };
  struct Ipc {
    /// The call's address lies in memory that legacy IPC can name, which is memory of cuMemAlloc.
    Answer capable = Answer::kUnknown;
    std::uint64_t base = 0;  ///< of the memory that holds the call's address; 0 unknown
    std::uint64_t size = 0;  ///< of that memory, bytes, 0 unknown
    Token token = Token::kUnknown;
    Answer event_alive = Answer::kUnknown;         ///< the event exists
    Answer event_interprocess = Answer::kUnknown;  ///< made with INTERPROCESS|DISABLE_TIMING
  };
  struct Pool {
    /// The call's pool, or the pool that it hands out, is the default pool of a device or of
    /// another place.
    Answer is_default = Answer::kUnknown;
    int default_device = kUnknownDevice;  ///< the device of which it is the default pool
    /// A pointer of the pool's memory was imported through another import of the same pool.
    Answer held_elsewhere = Answer::kUnknown;
    /// The memory of the pointer being imported lies on the host and was imported here before.
    Answer imported_before = Answer::kUnknown;
    Token token = Token::kUnknown;
    std::uint64_t current = 0;  ///< handle of the pool that cuMemAllocAsync takes from, 0 unknown
    /// The place of a pool that was imported or handed out, as the driver describes it (since CUDA
    /// 13.2).
    std::optional<CUmemLocation> location;
    std::optional<unsigned> handle_types;
    std::optional<CUmemAllocationType> type;
    std::uint64_t object_size = 0;  ///< of the memory of an imported pointer, bytes, 0 unknown
    /// The stream captures: the allocation becomes a node of a graph, and each launch makes the
    /// memory.
    bool captured = false;
  };
  struct External {
    std::uint64_t object_size = 0;  ///< of the memory object being imported, bytes, 0 unknown
  };

  struct Array {
    /// The bytes that each entry of a cuMemMapArrayAsync maps, 0 unknown; null: all unknown. The
    /// caller owns the array.
    const std::uint64_t* sizes = nullptr;
    /// The driver's description of the sparse array that the call made; null: unknown. The caller
    /// owns it.
    const CUDA_ARRAY_SPARSE_PROPERTIES* sparse = nullptr;
  };

  /// Work that uses the memory which the call takes away, and that nothing orders before the call.
  struct Order {
    const FoundWork* work = nullptr;  ///< the worst first; the caller owns the array
    std::size_t count = 0;
  };

  Answer initialized = Answer::kUnknown;  ///< cuInit succeeded in this process
  Place place;
  Unicast unicast;
  Multicast multicast;
  Endpoint endpoint;
  Sharing sharing;
  Ipc ipc;
  Pool pool;
  External external;
  Array array;
  Order order;
};

}  // namespace cuvmm
