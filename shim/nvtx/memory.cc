// SPDX-License-Identifier: Apache-2.0
#include "shim/nvtx/memory.h"

#include <atomic>
#include <chrono>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "api/words.h"
#include "shim/base/owned_mutex.h"
#include "shim/nvtx/ranges.h"

namespace cuvmm::shim::nvtx {

namespace {

constexpr std::size_t kLongestRegionName = 200;
constexpr std::size_t kMostRegions = 1 << 20;
constexpr std::size_t kMostHeaps = 4096;
constexpr std::size_t kMostShown = 4;
constexpr std::chrono::milliseconds kPatienceForMemory{1000};

struct Heap {
  const void* domain;
  std::uintptr_t base;
  std::uint64_t size;
  std::string name;
};

struct Region {
  std::uint64_t size;
  const void* heap;
  const void* handle;
  std::string name;
};

struct Registered {
  std::unordered_map<const void*, Heap> heaps;
  std::map<std::uintptr_t, Region> regions;
  std::unordered_map<const void*, std::uintptr_t> handles;

  // The region that a pointer or a handle means, or the end.
  std::map<std::uintptr_t, Region>::iterator find(const void* reference) {
    const auto known = handles.find(reference);
    return regions.find(known == handles.end() ? reinterpret_cast<std::uintptr_t>(reference)
                                               : known->second);
  }
  void erase(std::map<std::uintptr_t, Region>::iterator region) {
    if (region->second.handle) handles.erase(region->second.handle);
    regions.erase(region);
  }
};

constinit OwnedMutex g_memory_mutex;
constinit std::atomic<bool> g_any{false};

// Never destroyed, because findings are written until the process ends.
Registered& registered() {
  static Registered* const kRegistered = new Registered;
  return *kRegistered;
}

// Compares without additions, which could overflow.
bool within(std::uintptr_t address, std::uintptr_t base, std::uint64_t size) {
  return address >= base && address - base < size;
}

bool overlaps(std::uintptr_t a, std::uint64_t a_size, std::uintptr_t b, std::uint64_t b_size) {
  return within(a, b, b_size) || within(b, a, a_size);
}

// An empty name gets no domain either.
std::string name_in(const void* domain, std::string_view name) {
  const std::string_view shortened = name.substr(0, kLongestRegionName);
  return shortened.empty() ? std::string() : in_domain(domain, shortened);
}

std::string region_text(const Region& region) {
  return (region.name.empty() ? "no name" : region.name) + ", " + size_text(region.size);
}

}  // namespace

void add_heap(const void* handle, const void* domain, std::uintptr_t base, std::uint64_t size,
              std::string_view name) {
  // Made before the lock, because fork takes the lock of the domains first.
  std::string text = name_in(domain, name);
  const Locked lock(g_memory_mutex);
  if (registered().heaps.size() >= kMostHeaps) return;
  registered().heaps[handle] = {domain, base, size, std::move(text)};
  g_any.store(true, std::memory_order_relaxed);
}

void reset_heap(const void* handle) {
  const Locked lock(g_memory_mutex);
  auto& regions = registered().regions;
  for (auto at = regions.begin(); at != regions.end();) {
    const auto next = std::next(at);
    if (at->second.heap == handle) registered().erase(at);
    at = next;
  }
}

void remove_heap(const void* handle) {
  reset_heap(handle);
  const Locked lock(g_memory_mutex);
  registered().heaps.erase(handle);
}

void add_region(const void* heap, std::uintptr_t base, std::uint64_t size, const void* handle) {
  const Locked lock(g_memory_mutex);
  const auto old = registered().regions.find(base);
  if (old != registered().regions.end()) registered().erase(old);
  if (registered().regions.size() >= kMostRegions) return;
  registered().regions[base] = {size, heap, handle, {}};
  if (handle) registered().handles[handle] = base;
  g_any.store(true, std::memory_order_relaxed);
}

void resize_region(std::uintptr_t base, std::uint64_t size) {
  const Locked lock(g_memory_mutex);
  const auto region = registered().regions.find(base);
  if (region != registered().regions.end()) region->second.size = size;
}

void remove_region(const void* reference) {
  const Locked lock(g_memory_mutex);
  const auto region = registered().find(reference);
  if (region != registered().regions.end()) registered().erase(region);
}

void name_region(const void* reference, const void* domain, std::string_view name) {
  const std::string alone = name_in(nullptr, name), text = name_in(domain, name);
  const Locked lock(g_memory_mutex);
  const auto region = registered().find(reference);
  if (region == registered().regions.end()) return;
  const auto heap = registered().heaps.find(region->second.heap);
  const bool same = heap != registered().heaps.end() && heap->second.domain == domain;
  region->second.name = same ? alone : text;
}

bool any_memory() noexcept { return g_any.load(std::memory_order_relaxed); }

KnownMemory known_memory(std::uintptr_t base, std::uint64_t size) {
  KnownMemory known;
  if (!any_memory() || !g_memory_mutex.lock_within(kPatienceForMemory)) return known;
  const Locked lock(g_memory_mutex, kHeldAlready);
  const std::uint64_t reach = size == 0 ? 1 : size;
  for (const auto& [handle, heap] : registered().heaps) {
    if (known.name.empty() && overlaps(heap.base, heap.size, base, reach)) known.name = heap.name;
  }
  const auto& regions = registered().regions;
  auto at = regions.upper_bound(base);
  if (at != regions.begin() && within(base, std::prev(at)->first, std::prev(at)->second.size)) --at;
  for (; at != regions.end() && overlaps(at->first, at->second.size, base, reach); ++at) {
    ++known.region_count;
    if (known.regions.size() < kMostShown) known.regions.push_back(region_text(at->second));
  }
  return known;
}

bool lock_memory() noexcept { return g_memory_mutex.lock_for_fork(); }
void unlock_memory() noexcept CUVMM_UNCHECKED { g_memory_mutex.unlock(); }

}  // namespace cuvmm::shim::nvtx
