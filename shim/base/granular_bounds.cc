// SPDX-License-Identifier: Apache-2.0
#include "shim/base/granular_bounds.h"

#include <sys/mman.h>

#include <cerrno>

namespace cuvmm::shim {

namespace {

// The bits of the granules [first, last] that lie in the word of this number.
std::uint64_t bits_in(std::uint64_t word, std::uint64_t first, std::uint64_t last) {
  std::uint64_t bits = ~std::uint64_t{0};
  if (word == first / 64) bits &= ~std::uint64_t{0} << first % 64;
  if (word == last / 64) bits &= ~std::uint64_t{0} >> (63 - last % 64);
  return bits;
}

}  // namespace

bool Bounds::near(const Touch* touches, std::size_t count) const {
  const Address low = low_.load(std::memory_order_acquire);
  const Address high = high_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const Touch& touch = touches[i];
    if (touch.base >= high) continue;
    if (is_row(touch)) [[likely]] {
      if (touch.base > low || touch.width > low - touch.base) return true;
      continue;
    }
    // The last byte, or the end of memory if the sum would wrap: then the range is near for sure.
    if (touch.base + extent_of(touch) > low) return true;
  }
  return false;
}

GranularBounds::~GranularBounds() {
  if (Word* const table = table_.load(std::memory_order_relaxed)) {
    ::munmap(static_cast<void*>(table), kWords * sizeof(Word));
  }
}

GranularBounds::Word* GranularBounds::table() {
  if (Word* const known = table_.load(std::memory_order_acquire)) return known;
  const int saved = errno;
  void* const memory = ::mmap(nullptr, kWords * sizeof(Word), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved;
  if (memory == MAP_FAILED) return nullptr;
  // Zero bytes are a table without bits.
  static_assert(sizeof(Word) == sizeof(std::uint64_t) && Word::is_always_lock_free);
  auto* const made = static_cast<Word*>(memory);
  Word* first = nullptr;
  if (table_.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return made;
  ::munmap(memory, kWords * sizeof(Word));
  return first;
}

[[gnu::hot]] bool GranularBounds::marked(Address base, Size size) const {
  const Word* const table = table_.load(std::memory_order_acquire);
  if (!table || base >= kReach || size > kReach - base) return false;
  const std::uint64_t first = base >> kGranuleShift, last = (base + (size - 1)) >> kGranuleShift;
  std::uint64_t word = first / 64;
  do {
    const std::uint64_t bits = bits_in(word, first, last);
    if ((table[word].load(std::memory_order_relaxed) & bits) != bits) return false;
  } while (word++ != last / 64);
  return true;
}

// The bits are set before the range is widened: a thread that sees the range sees the bits.
void GranularBounds::widen_more(Address base, Size size) {
  const bool small = size <= kMostMarked && base < kReach && size <= kReach - base;
  Word* const words = small ? table() : nullptr;
  if (!words) {
    all_.store(true);
  } else if (size != 0) {
    const std::uint64_t first = base >> kGranuleShift, last = (base + (size - 1)) >> kGranuleShift;
    for (std::uint64_t word = first / 64; word <= last / 64; ++word) {
      words[word].fetch_or(bits_in(word, first, last), std::memory_order_relaxed);
    }
  }
  bounds_.widen(base, size);
}

bool GranularBounds::looks_near(const Touch* touches, std::size_t count) const {
  if (!bounds_.near(touches, count)) return false;
  if (all_.load(std::memory_order_relaxed)) [[unlikely]]
    return true;
  const Word* const table = table_.load(std::memory_order_acquire);
  if (!table) return true;
  for (std::size_t i = 0; i < count; ++i) {
    const Touch& touch = touches[i];
    Size size = touch.width;
    if (!Bounds::is_row(touch)) [[unlikely]] {
      const unsigned __int128 extent = Bounds::extent_of(touch);
      if (extent > kMostMarked) return true;
      size = static_cast<Size>(extent);
    }
    if (size > kMostMarked || touch.base >= kReach || size > kReach - touch.base) return true;
    const Address end = touch.base + (size == 0 ? 0 : size - 1);
    const std::uint64_t first = touch.base >> kGranuleShift, last = end >> kGranuleShift;
    if (first == last) [[likely]] {
      if ((table[first / 64].load(std::memory_order_relaxed) >> first % 64 & 1) != 0) return true;
      continue;
    }
    for (std::uint64_t word = first / 64; word <= last / 64; ++word) {
      const std::uint64_t bits = table[word].load(std::memory_order_relaxed);
      if ((bits & bits_in(word, first, last)) != 0) return true;
    }
  }
  return false;
}

}  // namespace cuvmm::shim
