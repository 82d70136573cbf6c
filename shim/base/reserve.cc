// SPDX-License-Identifier: Apache-2.0
#include "shim/base/reserve.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace cuvmm::shim {

namespace {

// Each block is larger than the one before, so that a few hold any report. The first block is part
// of this object: it exists even if RLIMIT_AS allows no further page.
constexpr std::size_t kFirstBlock = std::size_t{512} << 10;
constexpr std::size_t kMaxBlocks = 24;
constexpr std::size_t kAlign = alignof(std::max_align_t);

struct Block {
  std::byte* low = nullptr;
  std::size_t size = 0;
  std::atomic<std::size_t> used{0};
};

// One thread makes the last report; a second thread may use the reserve as well if a report hangs.
alignas(kAlign) constinit std::byte g_first[kFirstBlock]{};
constinit Block g_blocks[kMaxBlocks] = {{g_first, sizeof g_first, 0}};
constinit std::atomic<std::size_t> g_count{1};

void* take_from(Block& block, std::size_t size) {
  const std::size_t at = block.used.fetch_add(size, std::memory_order_relaxed);
  return at > block.size || size > block.size - at ? nullptr : block.low + at;
}

bool add_block(std::size_t least) {
  const std::size_t count = g_count.load(std::memory_order_acquire);
  if (count == kMaxBlocks) return false;
  const std::size_t size = std::max(kFirstBlock << count, (least + 4095) & ~std::size_t{4095});
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  Block& block = g_blocks[count];
  block.low = static_cast<std::byte*>(memory);
  block.size = size;
  block.used.store(0, std::memory_order_relaxed);
  g_count.store(count + 1, std::memory_order_release);
  return true;
}

}  // namespace

void* take_from_reserve(std::size_t size) noexcept {
  if (size > PTRDIFF_MAX) return nullptr;
  size = (std::max<std::size_t>(size, 1) + kAlign - 1) & ~(kAlign - 1);
  do {
    const std::size_t count = g_count.load(std::memory_order_acquire);
    if (void* const memory = take_from(g_blocks[count - 1], size)) return memory;
  } while (add_block(size));
  return nullptr;
}

bool is_from_reserve(const void* memory) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t count = g_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const auto low = reinterpret_cast<std::uintptr_t>(g_blocks[i].low);
    if (address - low < g_blocks[i].size) return true;
  }
  return false;
}

}  // namespace cuvmm::shim
