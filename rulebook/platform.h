// SPDX-License-Identifier: Apache-2.0
// What the rules need to know of the machine, and what a caller may look up for one call.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace cuvmm {

/// Facts of the machine that rules depend on. Default values mean unknown: no certain violation.
struct Platform {
  int device_count = -1;
  std::uint64_t host_page = 4096;  ///< bytes
  std::uint64_t reserve_granularity =
      0;  ///< bytes; what this driver demands of a reservation, 0 unknown
  std::uint64_t max_reservation = 0;  ///< bytes; larger ones are refused, 0 unknown
  std::uint32_t handle_types = 0;     ///< mask of exportable CUmemAllocationHandleType, 0 unknown
  bool fabric_channel_known = false;
  bool fabric_channel = false;       ///< an IMEX channel is accessible to this process
  std::uint64_t numa_nodes = 0;      ///< bit n: node n can back HOST_NUMA memory; 0 unknown
  std::vector<std::uint64_t> reach;  ///< per device: mask of devices whose memory it can access
  bool multicast_known = false;
  std::uint64_t multicast = 0;  ///< mask of devices that support multicast (attribute 132)
  /// Everything the process does is seen: an object the model does not know does not exist. True in
  /// the emulator, false in the shim, where other libraries have private routes to the driver.
  bool complete = false;
};

/// What could be learned of memory that was imported.
struct ImportedMemory {
  std::uint64_t size = 0;         ///< bytes, 0 unknown
  std::uint64_t granularity = 0;  ///< MINIMUM granularity for its properties, bytes, 0 unknown
  CUmemAllocationProp prop{};
  bool prop_known = false;
};

/// What the caller looked up for one call, by the area that asks. Default values mean unknown. Each
/// area's part is filled by its finder: FactFinder's in the shim, add_facts in the emulator.
struct Facts {
  enum class Answer : std::uint8_t { kUnknown, kNo, kYes };
  /// What the 64 bytes of an IPC handle, or of an exported pool pointer, name.
  enum class Token : std::uint8_t {
    kUnknown,
    kValid,
    kForged,        ///< no process made them
    kEnded,         ///< what they named was freed
    kExporterGone,  ///< the process that made them has ended
    kOwn,           ///< this process made them, whether what they named lives or was freed
  };
  static constexpr int kUnknownDevice = -1;

  /// Where the call does its work.
  struct Place {
    Answer context = Answer::kUnknown;  ///< a context is current
    std::uint64_t context_id = 0;       ///< the current context's handle, 0 unknown
    int device = kUnknownDevice;        ///< device of the context that performs a copy or fill
    int peer_device = kUnknownDevice;   ///< device of the source context of a peer copy
  };
  struct Unicast {
    std::uint64_t granularity = 0;                  ///< MINIMUM for the call's prop, bytes
    std::uint64_t free_memory = ~std::uint64_t{0};  ///< bytes that cuMemCreate could still take
    /// The handle value is an address that can be read. kNo: the driver would crash on it.
    Answer handle_readable = Answer::kUnknown;
  };
  struct Multicast {
    std::uint64_t granularity = 0;  ///< MINIMUM for the call's prop, bytes
    std::uint64_t recommended = 0;  ///< the RECOMMENDED one, bytes
    /// Mask of the devices that any process added to the call's multicast object; nothing: only
    /// what this process added is known.
    std::optional<std::uint64_t> team;
  };
  /// Of whatever is imported through a descriptor.
  struct Sharing {
    /// The descriptor is open and refers to an exported object.
    Answer descriptor_valid = Answer::kUnknown;
    /// kNo: it is open, but stands for another kind of object than the call imports.
    Answer descriptor_kind = Answer::kUnknown;
    ImportedMemory imported;  ///< cuMemImportFromShareableHandle, once it succeeded
  };
  struct Ipc {
    /// The call's address lies in memory that legacy IPC can name: that of cuMemAlloc.
    Answer capable = Answer::kUnknown;
    std::uint64_t base = 0;  ///< of the memory that holds the call's address; 0 unknown
    std::uint64_t size = 0;  ///< of that memory, bytes, 0 unknown
    Token token = Token::kUnknown;
    Answer event_alive = Answer::kUnknown;         ///< the event exists
    Answer event_interprocess = Answer::kUnknown;  ///< made with INTERPROCESS|DISABLE_TIMING
  };
  struct Pool {
    Answer is_default = Answer::kUnknown;  ///< the call's pool is a device's default pool
    int default_device = kUnknownDevice;   ///< the device of which it is the default pool
    /// A pointer of the pool's memory was imported through another import of the same pool.
    Answer held_elsewhere = Answer::kUnknown;
    /// The memory of the pointer being imported lies on the host and was imported here before.
    Answer imported_before = Answer::kUnknown;
    Token token = Token::kUnknown;
    std::optional<CUmemLocation> location;  ///< where the memory of an imported pool lies
    std::uint64_t object_size = 0;  ///< of the memory of an imported pointer, bytes, 0 unknown
  };
  struct External {
    std::uint64_t object_size = 0;  ///< of the memory object being imported, bytes, 0 unknown
  };

  Answer initialized = Answer::kUnknown;  ///< cuInit succeeded in this process
  Place place;
  Unicast unicast;
  Multicast multicast;
  Sharing sharing;
  Ipc ipc;
  Pool pool;
  External external;
};

}  // namespace cuvmm
