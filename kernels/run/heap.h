// SPDX-License-Identifier: Apache-2.0
// The memory that kernels allocate by malloc(). It belongs to the process, because a later kernel
// may use and free it.
#pragma once

#include <cstdint>
#include <map>

namespace cuvmm::kernels {

/// The caller holds a lock for all kernels of the process.
class Heap {
 public:
  /// In bytes, whatever CU_LIMIT_MALLOC_HEAP_SIZE says.
  static constexpr std::uint64_t kBytes = 128 << 20;

  static Heap& get();

  /// A multiple of 16 in the heap's window (code.h); 0: no memory is left.
  std::uint64_t allocate(std::uint64_t size);
  /// False for an address that malloc() did not return, or that is free already.
  bool release(std::uint64_t address);
  /// The bytes of an access; null where they do not lie in one allocation.
  char* at(std::uint64_t address, std::uint64_t size);

 private:
  char* bytes_ = nullptr;
  std::map<std::uint64_t, std::uint64_t> sizes_;  ///< of the allocations, by offset
};

}  // namespace cuvmm::kernels
