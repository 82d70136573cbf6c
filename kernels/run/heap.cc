// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/heap.h"

#include <sys/mman.h>

#include <algorithm>

#include "kernels/run/code.h"

namespace cuvmm::kernels {

Heap& Heap::get() {
  static Heap& heap = *new Heap;  // never destroyed: threads may outlive main
  return heap;
}

std::uint64_t Heap::allocate(std::uint64_t size) {
  constexpr std::uint64_t kAlign = 16;
  if (size > kBytes) return 0;
  size = std::max(kAlign, (size + kAlign - 1) / kAlign * kAlign);
  if (!bytes_) {
    void* const made = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return 0;
    bytes_ = static_cast<char*>(made);
  }
  std::uint64_t offset = 0;
  for (const auto& [used, bytes] : sizes_) {
    if (used - offset >= size) break;
    offset = used + bytes;
  }
  if (kBytes - offset < size) return 0;
  sizes_.emplace(offset, size);
  return kHeapWindow + offset;
}

bool Heap::release(std::uint64_t address) { return sizes_.erase(address - kHeapWindow) != 0; }

char* Heap::at(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t offset = address - kHeapWindow;
  auto found = sizes_.upper_bound(offset);
  if (found == sizes_.begin()) return nullptr;
  --found;
  const std::uint64_t into = offset - found->first;
  return into <= found->second && size <= found->second - into ? bytes_ + offset : nullptr;
}

}  // namespace cuvmm::kernels
