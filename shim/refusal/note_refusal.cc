// SPDX-License-Identifier: Apache-2.0
// Calls that the driver refused and no rule explains: what is known of them.
#include <algorithm>
#include <chrono>

#include "api/location.h"
#include "api/posix/cancel_off.h"
#include "api/visit_call.h"
#include "ring/reading.h"
#include "shim/intercept/arguments.h"
#include "shim/intercept/runtime_call.h"
#include "shim/refusal/address_facts.h"
#include "shim/session/session_run.h"

namespace cuvmm::shim {

namespace {

// These say nothing of the call: there is no driver, it has not begun, or it has ended.
bool says_nothing(CUresult result) {
  constexpr CUresult kThese[] = {CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED,
                                 CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_READY};
  return std::ranges::find(kThese, result) != std::end(kThese);
}

// The device whose memory is asked for; kNoDevice: the host's.
int wanted_device(const Call& call, int current) {
  const auto* create = call.as<calls::MemCreate>();
  return create && create->prop ? device_of(create->prop->location) : current;
}

// Of cuMemAllocAsync, where there are several devices: nobody asks a driver for each one's place.
bool unplaced(const PoolMemory& memory) {
  return !memory.managed && !memory.imported && static_cast<int>(memory.location.type) == 0;
}

// A driver makes a device's default pool when it is first asked for it: that is the program's to
// do.
bool uses_pools(const Model& model, int device, bool current) {
  const auto here = [&](const auto& each) { return device_of(each.second.location) == device; };
  return std::ranges::any_of(model.pools().pools(), here) ||
         std::ranges::any_of(model.pools().memory(), [&](const auto& each) {
           return here(each) || (current && unplaced(each.second));
         });
}

struct DefaultPool {
  CUmemoryPool pool = nullptr;
  cuuint64_t reserved = 0, used = 0;
};

std::optional<DefaultPool> ask_default_pool(const Driver& driver, int device) {
  DefaultPool known;
  const auto ask = [&](CUmemPool_attribute which, cuuint64_t& value) {
    return driver(calls::MemPoolGetAttribute{known.pool, which, &value}) == CUDA_SUCCESS;
  };
  const bool told = driver(calls::DeviceGetDefaultMemPool{&known.pool, device}) == CUDA_SUCCESS &&
                    ask(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, known.reserved) &&
                    ask(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, known.used);
  return told ? std::optional(known) : std::nullopt;
}

// What the pool says beyond the memory whose place is known.
std::uint64_t unplaced_in(const Model& model, int device, const DefaultPool& known) {
  std::uint64_t placed = 0;
  for (const auto& [base, memory] : model.pools().memory()) {
    const bool of_it = memory.pool == reinterpret_cast<std::uintptr_t>(known.pool);
    if (of_it && device_of(memory.location) == device) placed += memory.size;
  }
  return known.used > placed ? known.used - placed : 0;
}

}  // namespace

void Session::note_refusal(const Call& call, CUresult result, std::uint64_t index, StackId stack) {
  if (says_nothing(result)) return;
  const bool late = ring::is_fault(static_cast<std::uint32_t>(result));
  Refusal refusal;
  refusal.entry = call.entry_point();
  refusal.wish.what =
      visit_call<std::uint64_t>(call, [](const auto& made) { return wish_of(made); });
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    refusal.wish.size =
        visit_call<std::uint64_t>(call, [](const auto& made) { return wished_size(made); });
  }
  if (!late) probes_wait_.store(true, std::memory_order_relaxed);
  if (sink_.fold_refusal(refusal.entry, result, late, stack, refusal.wish)) return;
  refusal.result = result;
  refusal.late = late;
  if (const RuntimeCall* runtime = runtime_call()) refusal.runtime = runtime->name;
  refusal.arguments = describe_arguments(call);
  refusal.call_index = index;
  refusal.stack = stack;
  if (!late) refusal.driver_message = options_.log.about(name(refusal.entry));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    if (refusal.entry == EntryPoint::kMemAddressReserve) {
      const Locked lock(mutex_);
      refusal.addresses = address_facts(books_.model);
    } else {
      refusal.memory = memory_facts(call);
    }
  }
  sink_.take_refusal(refusal);
}

std::optional<MemoryFacts> Session::memory_facts(const Call& call) {
  Facts::Place place;
  facts_.find_context(place);
  MemoryFacts facts;
  facts.device = wanted_device(call, place.device);
  if (facts.device < 0) return std::nullopt;
  if (facts.device == place.device) {
    // A capture that goes on elsewhere is not to be disturbed.
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    std::size_t free = 0, total = 0;
    facts.measured = driver_(calls::MemGetInfo{&free, &total}) == CUDA_SUCCESS && free <= total;
    facts.free = free;
    facts.total = total;
  }
  std::string live;
  bool pooled = false;
  {
    const Locked lock(mutex_);
    facts.held = held_memory(books_.model, facts.device);
    pooled = uses_pools(books_.model, facts.device, facts.device == place.device);
    live = mirror_.folder();
  }
  if (pooled) {
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    if (const auto known = ask_default_pool(driver_, facts.device)) {
      if (known->reserved > known->used) facts.cached = known->reserved - known->used;
      const Locked lock(mutex_);
      facts.held.pools += unplaced_in(books_.model, facts.device, *known);
    }
  }
  // Each of them may take a while, and a program may ask again and again from other places.
  constexpr int kMostAsked = 8;
  if (!options_.others || neighbours_asked_.fetch_add(1) >= kMostAsked) return facts;
  const CancelOff no_cancel;
  facts.others = neighbours_on(facts.device, *options_.others, live, std::chrono::seconds(1));
  return facts;
}

}  // namespace cuvmm::shim
