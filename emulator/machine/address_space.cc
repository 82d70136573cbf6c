// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/address_space.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>

#include "emulator/hostile/hostile_driver.h"

namespace cuvmm::emulator {

namespace {

constexpr std::uint64_t kTi = std::uint64_t{1} << 40;
constexpr std::uint64_t kGi = std::uint64_t{1} << 30;
// A driver's own blocks lie between those of the program: on the H200 the first free granule was
// followed by 36 taken ones (observation reserve/many-adjacent). So a program cannot rely on
// neighbours, and a mapping that runs past the end of its reservation may or may not touch another
// one.
constexpr std::uint64_t kFirstHole = kGranule;
constexpr std::uint64_t kDriverBlock = 36 * kGranule;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

std::uint64_t map_inaccessible(std::uint64_t size) {
  void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(at);
}

// As map_inaccessible, at `wish` exactly; 0: the address is taken, or `wish` is 0.
std::uint64_t map_inaccessible_at(std::uint64_t wish, std::uint64_t size) {
  if (wish == 0) return 0;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const at = mmap(reinterpret_cast<void*>(wish), size, PROT_NONE, kFlags, -1, 0);
  if (at == reinterpret_cast<void*>(wish)) return wish;
  // A kernel older than the flag treats the address as a hint.
  if (at != MAP_FAILED) munmap(at, size);
  return 0;
}

// The arena's address for a seed, so that runs with equal seeds have equal addresses.
std::uint64_t place_of(std::uint64_t seed) {
  constexpr std::uint64_t kLowest = 16 * kTi, kPlaces = 12, kApart = 5 * kTi;
  return kLowest + seed % kPlaces * kApart;
}

bool is_loaded(const char* symbol) { return dlsym(RTLD_DEFAULT, symbol) != nullptr; }

void unmap(std::uint64_t base, std::uint64_t size) {
  if (size) munmap(reinterpret_cast<void*>(base), size);
}

}  // namespace

bool AddressSpace::open(std::uint64_t wish) {
  if (arena_) return true;
  // ThreadSanitizer ends the process when a mapping leaves its 1.5 TiB of application addresses.
  const bool tsan = is_loaded("__tsan_init");
  if (tsan) largest_ = 512 * kGi;
  // AddressSanitizer has no shadow for low addresses, though it may leave them free
  // (protect_shadow_gap=0): instrumented code must not access memory there.
  if (is_loaded("__asan_init")) wish = 0;
  if (hostile_driver().seed != 0 && !tsan) wish = place_of(hostile_driver().seed);
  const std::uint64_t most = tsan ? 256 * kGi : 4 * kTi;
  // Tries a smaller arena at the wish before a larger arena elsewhere, because other low mappings,
  // such as Go's heap at 0xc000000000, leave enough space below them.
  for (std::uint64_t size = most; wish && size >= 256 * kGi; size /= 4) {
    if (begin_at(map_inaccessible_at(wish, size), size)) return true;
  }
  for (std::uint64_t size = most; size >= 4 * kGi; size /= 4) {
    if (begin_at(map_inaccessible_at(wish, size), size)) return true;
    const std::uint64_t raw = map_inaccessible(size + kGranule);
    if (begin_at(align_up(raw, kGranule), size)) return true;
  }
  return false;
}

bool AddressSpace::begin_at(std::uint64_t at, std::uint64_t size) {
  if (at == 0) return false;
  arena_ = at;
  arena_size_ = size;
  regions_[arena_] = size;
  free_[arena_] = kFirstHole;
  free_[arena_ + kFirstHole + kDriverBlock] = size - kFirstHole - kDriverBlock;
  return true;
}

std::optional<std::uint64_t> AddressSpace::take(std::uint64_t size, std::uint64_t alignment,
                                                std::uint64_t hint) {
  alignment = std::max(alignment, kGranule);
  // An address that the program reserved without an alignment must be mappable with large granules,
  // too.
  if (hostile_driver().large_granules)
    alignment = std::max(alignment, HostileDriver::kTimesLarger * kGranule);
  if (size == 0 || size > largest_) return std::nullopt;
  size = align_up(size, kGranule);
  if (hint && hint % alignment == 0 && !hostile_driver().ignores_hints) {
    auto hole = free_.upper_bound(hint);
    if (hole != free_.begin()) {
      --hole;
      const std::uint64_t skip = hint - hole->first;
      if (skip < hole->second && size <= hole->second - skip) {
        carve(hole, hint, size);
        return hint;
      }
    }
  }
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const std::uint64_t base = place_in(hole->first, hole->second, size, alignment);
    if (base == 0) continue;
    carve(hole, base, size);
    if (hostile_driver().new_addresses) fresh_ = base + size;
    return base;
  }
  return take_region(size, alignment);
}

std::uint64_t AddressSpace::place_in(std::uint64_t base, std::uint64_t hole, std::uint64_t size,
                                     std::uint64_t alignment) const {
  // Ranges begin above this address in the arena only, whose upper half always stays usable. Ranges
  // that do not fit get a region beside the arena.
  const bool in_arena = base >= arena_ && base - arena_ < arena_size_;
  const std::uint64_t begin =
      in_arena ? arena_ + hostile_driver().begin_of_ranges(arena_size_ / 2) : base;
  const std::uint64_t lowest = std::max(base, hostile_driver().new_addresses ? fresh_ : base);
  std::uint64_t place = align_up(std::max(lowest, begin), alignment);
  const auto fits = [&](std::uint64_t at) {
    return at >= base && at - base < hole && size <= hole - (at - base);
  };
  if (!fits(place)) return 0;
  if (hostile_driver().scattered_addresses) {
    const std::uint64_t room = hole - (place - base) - size;
    const std::uint64_t apart =
        place + hostile_driver().draw() % (room / alignment + 1) * alignment;
    if (fits(apart)) place = apart;
  }
  return place;
}

void AddressSpace::carve(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t base,
                         std::uint64_t size) {
  const auto [hole_base, hole_size] = *hole;
  const std::uint64_t tail = hole_base + hole_size - (base + size);
  if (base == hole_base) {
    if (tail == 0) {
      free_.erase(hole);
      return;
    }
    // Reuses the map's node, so that taking from the front of a hole allocates nothing.
    auto node = free_.extract(hole);
    node.key() = base + size;
    node.mapped() = tail;
    free_.insert(std::move(node));
    return;
  }
  hole->second = base - hole_base;
  if (tail) free_.emplace(base + size, tail);
}

std::optional<std::uint64_t> AddressSpace::take_region(std::uint64_t size,
                                                       std::uint64_t alignment) {
  // A mapping is page-aligned already; maps the extra bytes that a larger alignment needs.
  const std::uint64_t slack = alignment == kGranule ? 0 : alignment;
  if (slack > largest_ || size > largest_ - slack) return std::nullopt;
  const std::uint64_t total = size + std::max(slack, kGranule);
  const std::uint64_t raw = map_inaccessible(total);
  if (!raw) return std::nullopt;
  const std::uint64_t base = align_up(raw, alignment);
  unmap(raw, base - raw);
  unmap(base + size, raw + total - (base + size));
  regions_[base] = size;
  return base;
}

std::optional<std::uint64_t> AddressSpace::take_apart(std::uint64_t size) {
  if (apart_ == 0) apart_ = align_up(arena_ + arena_size_ / 2, kGranule);
  const auto base = take(size, 0, apart_);
  if (base == apart_) apart_ += align_up(size, kGranule);
  return base;
}

void AddressSpace::give_back(std::uint64_t base, std::uint64_t size) {
  size = align_up(size, kGranule);
  if (base < arena_ || base >= arena_ + arena_size_) {
    if (regions_.erase(base)) unmap(base, size);
    return;
  }
  auto next = free_.lower_bound(base);
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == base) {
      previous->second += size;
      if (next != free_.end() && base + size == next->first) {
        previous->second += next->second;
        free_.erase(next);
      }
      return;
    }
  }
  if (next != free_.end() && base + size == next->first) {
    auto node = free_.extract(next);
    node.key() = base;
    node.mapped() += size;
    free_.insert(std::move(node));
    return;
  }
  free_.emplace(base, size);
}

bool AddressSpace::owns(std::uint64_t base, std::uint64_t size) const {
  auto region = regions_.upper_bound(base);
  if (region == regions_.begin()) return false;
  --region;
  const std::uint64_t skip = base - region->first;
  return skip < region->second && size <= region->second - skip;
}

bool AddressSpace::reserved_by_driver(std::uint64_t base, std::uint64_t size) const {
  const std::uint64_t block = arena_ + kFirstHole;
  return base < block + kDriverBlock && block - std::min(block, base) < size;
}

void AddressSpace::seal(std::uint64_t base, std::uint64_t size) const {
  (void)mmap(reinterpret_cast<void*>(base), size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace cuvmm::emulator
