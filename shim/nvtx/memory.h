// SPDX-License-Identifier: Apache-2.0
// What a program's own allocators say of memory through NVTX's memory extension: heaps, which they
// cut up, and the regions that they gave out of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim::nvtx {

/// Names of a range of addresses, for a finding about it.
struct KnownMemory {
  std::string name;                  ///< of a heap that it is in, or that is in it; "" none
  std::vector<std::string> regions;  ///< the first that lie in it: "block 12, 64 KiB"
  std::uint64_t region_count = 0;
};

/// Thread-safe. A heap is known by the handle that the program has for it; a region by its address,
/// or by its handle. Names of heaps begin with their domain (shim/nvtx/ranges.h).
void add_heap(const void* handle, const void* domain, std::uintptr_t base, std::uint64_t size,
              std::string_view name);
void remove_heap(const void* handle);
/// Ends all regions of the heap.
void reset_heap(const void* handle);
/// `handle`: null where the region is known by its address alone.
void add_region(const void* heap, std::uintptr_t base, std::uint64_t size, const void* handle);
void resize_region(std::uintptr_t base, std::uint64_t size);
void remove_region(const void* reference);
/// `domain`: of who names it. It is told where it is not the one of the region's heap.
void name_region(const void* reference, const void* domain, std::string_view name);

/// Nothing: no heap and no region overlaps the range. Cheap where nothing was ever registered.
KnownMemory known_memory(std::uintptr_t base, std::uint64_t size);
bool any_memory() noexcept;

/// Around fork, so that the child finds it whole; as OwnedMutex::lock_for_fork().
bool lock_memory() noexcept;
void unlock_memory() noexcept;

}  // namespace cuvmm::shim::nvtx
