// SPDX-License-Identifier: Apache-2.0
// Multicast objects, their bindings, and the calls that bind.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "rulebook/base/violation.h"

namespace cuvmm {

/// Memory of one device bound at [offset, offset + size) of an object.
struct MulticastBinding {
  int device = -1;  ///< whose memory it is, -1 unknown
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  /// Bytes behind the binding that no other binding may take: the rest of a granule, where the
  /// memory begins in the middle of one (CUDA 13.4).
  std::uint64_t behind = 0;
  CUmemGenericAllocationHandle memory = 0;  ///< 0 unknown
  Origin made;
};

/// A multicast object as this process sees it. Its handle is also in the table of allocations,
/// which counts its references, mappings and exports.
struct MulticastObject {
  CUmemGenericAllocationHandle handle = 0;
  unsigned team = 0;              ///< how many devices it is made for, 0 unknown
  std::uint64_t size = 0;         ///< bytes, 0 unknown
  std::uint64_t granularity = 0;  ///< minimum, bytes, 0 unknown
  std::uint64_t recommended = 0;  ///< bytes, 0 unknown
  bool shareable = false;         ///< made with handle types, or imported
  /// Exported or imported: other processes may add devices and bind.
  bool shared = false;
  std::uint64_t added = 0;                 ///< mask of the devices that this process added
  std::vector<MulticastBinding> bindings;  ///< of this process
  Origin made;
};

/// A call that binds memory, in any of its four forms.
struct MulticastBind {
  CUmemGenericAllocationHandle object = 0;
  std::uint64_t offset = 0;
  bool by_address = false;
  CUmemGenericAllocationHandle memory = 0;  ///< unless by_address
  std::uint64_t address = 0;                ///< if by_address
  std::uint64_t memory_offset = 0;          ///< unless by_address
  std::uint64_t size = 0;
  unsigned long long flags = 0;
  std::optional<int> device;  ///< the forms since CUDA 13.1 name a device
};

template <class CallStruct>
concept BindsMulticast = requires(const CallStruct& call) {
  call.mcHandle;
  call.mcOffset;
  call.flags;
}
&&!std::is_same_v<CallStruct, calls::MulticastUnbind>;

template <BindsMulticast CallStruct>
MulticastBind bind_of(const CallStruct& call) {
  MulticastBind bind;
  bind.object = call.mcHandle;
  bind.offset = call.mcOffset;
  bind.size = call.size;
  bind.flags = call.flags;
  if constexpr (requires { call.dev; }) bind.device = call.dev;
  if constexpr (requires { call.memHandle; }) {
    bind.memory = call.memHandle;
    bind.memory_offset = call.memOffset;
  } else {
    bind.by_address = true;
    bind.address = call.memptr;
  }
  return bind;
}

/// The objects about multicast that a call gave up: whole objects, and bindings with their object.
struct RetiredMulticast {
  std::vector<MulticastObject> objects;
  std::vector<std::pair<CUmemGenericAllocationHandle, MulticastBinding>> bindings;
};

}  // namespace cuvmm
