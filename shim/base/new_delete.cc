// SPDX-License-Identifier: Apache-2.0
// The operators new and delete of the shim's own code (its symbols are not exported): they use the
// program's heap as a rule, and the reserve while the process ends or if the heap is used up.
#include <cstdlib>
#include <new>

#include "shim/base/reserve.h"

namespace {

void* allocate(std::size_t size) noexcept {
  using cuvmm::shim::Care;
  if (cuvmm::shim::t_state.care == Care::kNone) [[likely]] {
    if (void* const memory = std::malloc(size ? size : 1)) [[likely]]
      return memory;
  }
  return cuvmm::shim::take_from_reserve(size);
}

void release(void* memory) noexcept {
  using cuvmm::shim::Care;
  if (cuvmm::shim::is_from_reserve(memory)) [[unlikely]]
    return;
  // A careful thread must not call free(), because a signal may have interrupted code that was
  // changing the program's heap.
  if (cuvmm::shim::t_state.care == Care::kNone) [[likely]]
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* const memory = allocate(size)) [[likely]]
    return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
