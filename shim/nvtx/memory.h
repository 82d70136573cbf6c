// SPDX-License-Identifier: Apache-2.0
// The facts that a program's own allocators give of memory through NVTX's memory extension: heaps,
// which they cut up, and the regions that they returned from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim::nvtx {

/// The names for a range of addresses, for a finding about the range.
struct KnownMemory {
  std::string name;                  ///< the name of a heap that contains the range or lies in it;
                                     ///< "" none
  std::vector<std::string> regions;  ///< the first regions that lie in it: "block 12, 64 KiB"
  std::uint64_t region_count = 0;
};

/// Thread-safe. The program's handle identifies a heap; its address or its handle identifies a
/// region. Names of heaps begin with their domain (shim/nvtx/ranges.h).
void add_heap(const void* handle, const void* domain, std::uintptr_t base, std::uint64_t size,
              std::string_view name);
void remove_heap(const void* handle);
/// Ends all regions of the heap.
void reset_heap(const void* handle);
/// `handle` is null if only the address identifies the region.
void add_region(const void* heap, std::uintptr_t base, std::uint64_t size, const void* handle);
void resize_region(std::uintptr_t base, std::uint64_t size);
void remove_region(const void* reference);
/// `domain`: the domain of the call that names the region. The domain becomes part of the name
/// unless it is the domain of the region's heap.
void name_region(const void* reference, const void* domain, std::string_view name);

/// Empty if no heap and no region overlaps the range. Cheap if the program has registered nothing.
KnownMemory known_memory(std::uintptr_t base, std::uint64_t size);
bool any_memory() noexcept;

/// Called around fork, so that the child finds the tables whole; as OwnedMutex::lock_for_fork().
bool lock_memory() noexcept;
void unlock_memory() noexcept;

}  // namespace cuvmm::shim::nvtx
