// SPDX-License-Identifier: Apache-2.0
// Memory of cuMemAlloc and its kin: an address range with one physical allocation behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "api/location.h"
#include "emulator/machine/address_space.h"
#include "emulator/machine/physical.h"
#include "emulator/objects/context.h"
#include "emulator/objects/memory/managed.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

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
  bool sync_memops = false;  ///< as set: what copies from it or to it is waited for
  bool coming = false;       ///< a stream has it to allocate: its bytes are not there yet
  bool ending = false;       ///< a stream has it to free, and nothing behind that makes it again
  unsigned again = 0;        ///< queued launches that allocate it once more, each behind a free
  std::shared_ptr<ManagedAdvice> managed{};  ///< null: it is no managed memory
  /// The region where a graph keeps it between the allocations; null: it ends with this one.
  std::shared_ptr<const SharedRange> kept{};

  /// What a legacy IPC handle can name.
  bool ipc_capable() const { return opens == 0 && pool == 0 && !external && !managed; }
  bool on_device() const { return is_device(memory.prop().location); }
  /// The granules of address space that it holds.
  Address region() const { return base - offset % kGranule; }
  Size region_size() const { return size + offset % kGranule; }
};

/// All of it in this process. Each allocation holds its region of the address space while it is
/// here.
class PlainAllocations {
 public:
  explicit PlainAllocations(AddressSpace& space) : space_(space) {}

  /// The allocation that holds an address, or null.
  const PlainAllocation* at(Address address) const;
  PlainAllocation* at(Address address) {
    return const_cast<PlainAllocation*>(static_cast<const PlainAllocations*>(this)->at(address));
  }
  /// The allocation that begins at an address, or null.
  PlainAllocation* find(Address base) {
    const auto found = all_.find(base);
    return found == all_.end() ? nullptr : &found->second;
  }
  /// Whether one begins behind `base`, and in the range.
  bool begins_behind(Address base, Size size) const {
    const auto next = all_.upper_bound(base);
    return next != all_.end() && next->first - base < size;
  }
  /// The first of those that are so, or null.
  template <class Predicate>
  const PlainAllocation* find_if(Predicate is_so) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&](const auto& entry) { return is_so(entry.second); });
    return found == all_.end() ? nullptr : &found->second;
  }
  template <class Predicate>
  PlainAllocation* find_if(Predicate is_so) {
    return const_cast<PlainAllocation*>(static_cast<const PlainAllocations*>(this)->find_if(is_so));
  }

  /// Gives it an address; null where there is no room for it.
  PlainAllocation* add(PlainAllocation&& allocation);
  /// Adds one whose region is taken already.
  PlainAllocation& put(PlainAllocation&& allocation);
  /// Ends an allocation, whatever made it; none there is no mistake.
  void end(Address base);
  /// Ends those that are so; `told` each of them before.
  template <class Predicate, class Told>
  void end_if(Predicate is_so, Told told) {
    for (auto entry = all_.begin(); entry != all_.end();) {
      if (!is_so(entry->second)) {
        ++entry;
        continue;
      }
      give_back(entry->second);
      told(entry->second);
      entry = all_.erase(entry);
    }
  }

 private:
  void give_back(const PlainAllocation& allocation);

  AddressSpace& space_;
  std::map<Address, PlainAllocation> all_;
};

}  // namespace cuvmm::emulator
