// SPDX-License-Identifier: Apache-2.0
// Memory of cuMemAlloc and related calls: an address range with one physical allocation behind it.
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
  Size size = 0;  ///< as the program requested it
  Context* context = nullptr;
  Physical memory;
  Size offset = 0;  ///< of the first byte, into `memory`: a buffer of external memory
  bool external = false;
  /// The name under which other processes open the memory, or under which this process opened
  /// another process's memory.
  IpcBytes ticket{};
  /// cuIpcOpenMemHandle minus cuIpcCloseMemHandle; 0: the memory was not opened.
  unsigned opens = 0;
  std::uint64_t pool = 0;  ///< the pool that it came from, or was imported through; 0: no pool
  bool imported = false;   ///< imported through `pool`
  bool of_module = false;  ///< a variable of a module, which no call frees
  bool on_cpu = false;     ///< the CPU reaches it at its address
  /// As the program set it: copies from and to the memory wait until they are done.
  bool sync_memops = false;
  bool coming = false;  ///< a stream has yet to allocate it: its bytes do not exist yet
  bool ending = false;  ///< a stream has yet to free it, and no later work allocates it again
  unsigned again = 0;   ///< queued launches that allocate it again, each after a free
  std::shared_ptr<ManagedAdvice> managed{};  ///< null: the memory is not managed
  /// The region where a graph keeps the memory between its allocations; null: the region ends with
  /// this allocation.
  std::shared_ptr<const SharedRange> of_graph{};

  /// Whether a legacy IPC handle can name the memory.
  bool ipc_capable() const { return opens == 0 && pool == 0 && !external && !managed; }
  bool on_device() const { return is_device(memory.prop().location); }
  /// The address of the granules that the allocation holds, and their size in bytes.
  Address region() const { return base - offset % kGranule; }
  Size region_size() const { return size + offset % kGranule; }
};

/// All plain allocations of this process. Each holds its region of the address space while it is in
/// this object.
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
  /// Whether an allocation begins after `base` in the range.
  bool begins_behind(Address base, Size size) const {
    const auto next = all_.upper_bound(base);
    return next != all_.end() && next->first - base < size;
  }
  /// The first allocation that satisfies `is_so`, or null.
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

  /// Gives the allocation an address; null where no address range is free.
  PlainAllocation* add(PlainAllocation&& allocation);
  /// Adds an allocation whose region is taken already.
  PlainAllocation& put(PlainAllocation&& allocation);
  /// Ends the allocation that begins at `base`, whatever made it; does nothing where none does.
  void end(Address base);
  /// Ends the allocations that satisfy `is_so`, each after `visit(allocation)`.
  template <class Predicate, class Visit>
  void end_if(Predicate is_so, Visit visit) {
    for (auto entry = all_.begin(); entry != all_.end();) {
      if (!is_so(entry->second)) {
        ++entry;
        continue;
      }
      give_back(entry->second);
      visit(entry->second);
      entry = all_.erase(entry);
    }
  }

 private:
  void give_back(const PlainAllocation& allocation);

  AddressSpace& space_;
  std::map<Address, PlainAllocation> all_;
};

}  // namespace cuvmm::emulator
