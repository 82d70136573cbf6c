// SPDX-License-Identifier: Apache-2.0
// Ranges: reserving, freeing, mapping, unmapping.
#include "shim/guard/guard.h"

#include <algorithm>
#include <cerrno>

#include "api/posix/cancel_off.h"

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t kLeastGranule = std::uint64_t{2} << 20;

/// Restores errno after extra calls of the driver, so that it is as the program's own call left it.
class KeepsErrno {
 public:
  KeepsErrno() = default;
  KeepsErrno(const KeepsErrno&) = delete;
  KeepsErrno& operator=(const KeepsErrno&) = delete;
  ~KeepsErrno() { errno = saved_; }

 private:
  const int saved_ = errno;
};

}  // namespace

std::uint64_t Guard::margin_for(std::uint64_t alignment) {
  if (!options_.guard) return 0;
  std::uint64_t granule = granule_.load(std::memory_order_relaxed);
  if (granule == 0) {
    const KeepsErrno keep;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    std::size_t bytes = 0;
    const CUresult answer = driver_(
        calls::MemGetAllocationGranularity{&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED});
    granule =
        answer == CUDA_SUCCESS ? std::max<std::uint64_t>(bytes, kLeastGranule) : kLeastGranule;
    if (answer == CUDA_SUCCESS) granule_.store(granule, std::memory_order_relaxed);
  }
  // A guard that is as large as the alignment leaves the program's range aligned.
  return std::max(granule, alignment);
}

CUresult Guard::make(const calls::MemAddressReserve& call) {
  if (!options_.ranges() || !call.ptr) return driver_(call);
  reservations_.fetch_add(1, std::memory_order_relaxed);
  const bool power = (call.alignment & (call.alignment - 1)) == 0;
  Span span;
  if (options_.guard && power && reserve_guarded(call, margin_for(call.alignment), span)) {
    const Locked lock(mutex_);
    spans_.add(span);
    *call.ptr = span.base;
    return CUDA_SUCCESS;
  }
  // The driver gets the program's own arguments, because it has to judge mistakes in them.
  const CUresult result = reserve(call);
  if (result != CUDA_SUCCESS) {
    reservations_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }
  if (options_.guard) unguarded_.fetch_add(1, std::memory_order_relaxed);
  const Locked lock(mutex_);
  spans_.add({*call.ptr, call.size});
  return result;
}

// If the driver has no address space left, returns the ranges of the quarantine to it first.
CUresult Guard::reserve(const calls::MemAddressReserve& call) {
  const CUresult result = driver_(call);
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  std::vector<Span> freed;
  {
    const Locked lock(mutex_);
    freed = spans_.give_back();
  }
  if (freed.empty()) return result;
  early_.fetch_add(freed.size(), std::memory_order_relaxed);
  free_all(freed);
  return driver_(call);
}

bool Guard::reserve_guarded(const calls::MemAddressReserve& call, std::uint64_t margin,
                            Span& span) {
  const auto wanted = with_margins(call.size, call.addr, margin);
  if (!wanted) return false;
  const KeepsErrno keep;
  CUdeviceptr outer = 0;
  if (reserve({&outer, wanted->size, call.alignment, wanted->hint, call.flags}) != CUDA_SUCCESS) {
    return false;
  }
  span = {outer + margin, call.size, margin};
  if (call.addr == 0 || span.base == call.addr) return true;
  // The guards do not fit at the program's address; perhaps the range alone does.
  CUdeviceptr exact = 0;
  if (driver_(calls::MemAddressReserve{&exact, call.size, call.alignment, call.addr, call.flags}) !=
      CUDA_SUCCESS) {
    return true;
  }
  if (exact != call.addr) {
    driver_(calls::MemAddressFree{exact, call.size});
    return true;
  }
  driver_(calls::MemAddressFree{outer, wanted->size});
  unguarded_.fetch_add(1, std::memory_order_relaxed);
  span = {exact, call.size};
  return true;
}

void Guard::free_all(const std::vector<Span>& spans) {
  const KeepsErrno keep;
  for (const Span& span : spans) {
    driver_(calls::MemAddressFree{span.outer_base(), span.outer_size()});
  }
}

CUresult Guard::make(const calls::MemAddressFree& call) {
  if (!options_.ranges()) return driver_(call);
  Span span;
  std::vector<Span> over;
  {
    const Locked lock(mutex_);
    const Span* const live = spans_.live(call.ptr);
    if (!live) {
      // The range was freed before, or the address is in a guard: the program must see no memory
      // there.
      const Span* const at = spans_.at(call.ptr);
      const bool inside = at && !at->quarantined && call.ptr - at->base < at->size;
      if (at && !inside) return CUDA_ERROR_INVALID_VALUE;
      span = {call.ptr, call.size};
    } else {
      span = *live;
      const bool stays = options_.quarantine != 0 && call.size == span.size &&
                         !memories_.mapped(span.base, span.size);
      if (stays) {
        over = spans_.keep(span);
      } else {
        spans_.remove(span);  // another thread may get the address at once
      }
      if (stays) span.quarantined = true;
    }
  }
  if (span.quarantined) {
    free_all(over);
    return CUDA_SUCCESS;
  }
  // A wrong size stays wrong by as many bytes.
  const CUresult result =
      driver_(calls::MemAddressFree{span.outer_base(), call.size + 2 * span.margin});
  if (result != CUDA_SUCCESS) {
    const Locked lock(mutex_);
    if (!spans_.at(span.base) && span.margin + options_.quarantine != 0) spans_.add(span);
  }
  return result;
}

CUresult Guard::make(const calls::MemMap& call) {
  MappedMemory mapped{call.ptr, call.size, nullptr};
  {
    const Locked lock(mutex_);
    if (options_.ranges() && spans_.forbidden(call.ptr, call.size)) return CUDA_ERROR_INVALID_VALUE;
    mapped.memory = memories_.find(call.handle);
  }
  const CUresult result = driver_(call);
  if (result == CUDA_SUCCESS) {
    const Locked lock(mutex_);
    memories_.map(mapped);
  }
  return result;
}

CUresult Guard::make(const calls::MemUnmap& call) {
  bool whole = true;
  std::vector<MappedMemory> taken;
  {
    const Locked lock(mutex_);
    taken = memories_.take(call.ptr, call.size, whole);
  }
  if (options_.poison && whole) {
    for (const MappedMemory& mapped : taken) {
      const Memory* const memory = mapped.memory.get();
      // If its handle or another mapping lives, the program can still read its contents.
      if (!memory || memory->references != 0 || memory->mappings != 0) continue;
      if (memory->shared || !memory->settled) continue;
      if (poison_.device() < 0) {
        poison_.leave();
      } else {
        poison_.fill(mapped.base, mapped.size, Poison::kEnded);
      }
    }
  }
  const CUresult result = driver_(call);
  if (result != CUDA_SUCCESS) {
    const Locked lock(mutex_);
    memories_.put_back(taken);
  }
  return result;
}

void Guard::tell_missing(const std::function<void(std::string)>& tell) {
  const std::uint64_t unguarded = unguarded_.load(), early = early_.load();
  if (unguarded != 0) {
    tell("--guard: " + std::to_string(unguarded) + " of " + std::to_string(reservations_.load()) +
         " reservations have no guard: there was no room for one at that address, or at all");
  }
  if (early != 0) {
    tell("--quarantine: " + std::to_string(early) +
         " freed ranges were given back early, because address space was needed");
  }
  if (std::string missing = poison_.missing(); !missing.empty()) tell(std::move(missing));
}

void Guard::each_forbidden(const std::function<void(Part, std::uint64_t, std::uint64_t)>& visit) {
  const Locked lock(mutex_);
  for (const auto& [outer, span] : spans_.all()) {
    if (span.margin != 0) visit(Part::kBefore, outer, span.margin);
    if (span.quarantined) visit(Part::kFreed, span.base, span.size);
    if (span.margin != 0) visit(Part::kBehind, span.base + span.size, span.margin);
  }
}

}  // namespace cuvmm::shim
