// SPDX-License-Identifier: Apache-2.0
// Calls that the driver refused and no rule explains: collects the known facts.
#include <algorithm>
#include <chrono>

#include "api/location.h"
#include "api/posix/cancel_off.h"
#include "api/visit_call.h"
#include "api/words.h"
#include "recorder/last_calls/reading.h"
#include "shim/base/runtime_call.h"
#include "shim/cause/after_end.h"
#include "shim/cause/descriptor_facts.h"
#include "shim/cause/likely_reason.h"
#include "shim/findings/arguments.h"
#include "shim/refusals/address_facts.h"
#include "shim/refusals/surroundings.h"
#include "shim/session/session_run.h"

namespace cuvmm::shim {

namespace {

// These codes say nothing about the call: there is no driver, or it has not begun.
bool says_nothing(CUresult result) {
  constexpr CUresult kThese[] = {CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NO_DEVICE,
                                 CUDA_ERROR_NOT_READY};
  return std::ranges::find(kThese, result) != std::end(kThese);
}

// The device whose memory the call wants; kNoDevice: the host's memory.
int wanted_device(const Call& call, int current) {
  const auto* create = call.as<calls::MemCreate>();
  return create && create->prop ? device_of(create->prop->location) : current;
}

// Memory of cuMemAllocAsync on a machine with several devices has no known place, because cuvmm
// does not ask the driver for the place of each allocation.
bool unplaced(const PoolMemory& memory) {
  return !memory.managed && !memory.imported && static_cast<int>(memory.location.type) == 0;
}

// A driver makes a device's default pool at the first question for it: only the program may cause
// that.
bool uses_pools(const Model& model, int device, bool current) {
  const auto here = [&](const auto& each) { return device_of(each.second.location) == device; };
  return std::ranges::any_of(model.pools().pools(), here) ||
         std::ranges::any_of(model.pools().memory(), [&](const auto& each) {
           return here(each) || (current && unplaced(each.second));
         });
}

bool makes_descriptor(EntryPoint entry) {
  return entry == EntryPoint::kMemGetHandleForAddressRange ||
         entry == EntryPoint::kMemExportToShareableHandle ||
         entry == EntryPoint::kMemPoolExportToShareableHandle;
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
  const bool answered =
      driver(calls::DeviceGetDefaultMemPool{&known.pool, device}) == CUDA_SUCCESS &&
      ask(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, known.reserved) &&
      ask(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, known.used);
  return answered ? std::optional(known) : std::nullopt;
}

std::uint64_t wanted_by(const Call& call) {
  return visit_call<std::uint64_t>(call, [](const auto& made) { return wanted_size(made); });
}

// The bytes that the pool has in use besides the memory whose place is known.
std::uint64_t unplaced_in(const Model& model, int device, const DefaultPool& known) {
  std::uint64_t placed = 0;
  for (const auto& [base, memory] : model.pools().memory()) {
    const bool of_it = memory.pool == reinterpret_cast<std::uintptr_t>(known.pool);
    if (of_it && device_of(memory.location) == device) placed += memory.size;
  }
  return known.used > placed ? known.used - placed : 0;
}

void note_early_trim(const ProcessHistory& history, std::vector<Refusal::Aside>& asides) {
  const Origin &trim = history.causes.last_trim(), &freed = history.causes.last_free().by;
  if (trim.call <= freed.call) return;
  asides.push_back({"call " + std::to_string(trim.call) +
                        " trimmed a pool behind the cuMemFreeAsync of call " +
                        std::to_string(freed.call) +
                        ", which gives nothing back before the free has had its turn: wait for "
                        "the stream in between",
                    trim.stack});
}

// Notes memory of the default pool that the program freed and the driver still has in use, because
// the free waits for its turn on a stream.
void note_queued_frees(const ProcessHistory& history, std::uint64_t pool, std::uint64_t used,
                       std::vector<Refusal::Aside>& asides) {
  std::uint64_t live = 0;
  for (const auto& [base, memory] : history.model.pools().memory()) {
    if (memory.pool == pool) live += memory.size;
  }
  constexpr std::uint64_t kWorthSaying = 1u << 20;
  const Causes::QueuedFree& last = history.causes.last_free();
  if (last.by.call == 0 || used < live + kWorthSaying) return;
  std::string text = rough_size_text(used - live) +
                     " of the default pool are freed by the program, but not yet by the device: "
                     "cuMemFreeAsync waits for its turn on the stream, and cuMemPoolTrimTo gives "
                     "back nothing before. The last such free is call " +
                     std::to_string(last.by.call) + " on stream " + hex_text(last.stream);
  asides.push_back({std::move(text), last.by.stack});
  note_early_trim(history, asides);
}

// What waited for its turn when the driver refused the call may have had it by now.
void note_done_frees(const ProcessHistory& history, const MemoryFacts& facts, std::uint64_t wanted,
                     std::vector<Refusal::Aside>& asides) {
  const Causes::QueuedFree& last = history.causes.last_free();
  if (last.by.call == 0 || wanted == 0 || !facts.measured) return;
  if (facts.free >= wanted) {
    asides.push_back({"there is room by now: perhaps the cuMemFreeAsync of call " +
                          std::to_string(last.by.call) + " had to wait for its turn on stream " +
                          hex_text(last.stream) + ". Wait for the stream first",
                      last.by.stack});
  } else if (facts.free + facts.cached < wanted) {
    return;
  }
  note_early_trim(history, asides);
}

}  // namespace

void Session::note_refusal(const Call& call, CUresult result, std::uint64_t index, StackId stack) {
  if (result == CUDA_ERROR_DEINITIALIZED) {
    return tell_after_end(call.entry_point(), stack, context_end());
  }
  if (says_nothing(result)) return;
  // A finding has named the call that lost the capture already.
  const bool echo = result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
                    capture_lost_.load(std::memory_order_relaxed);
  if (echo) return;
  const bool late = last_calls::is_fault(static_cast<std::uint32_t>(result));
  Refusal refusal;
  refusal.entry = call.entry_point();
  refusal.purpose.what =
      visit_call<std::uint64_t>(call, [](const auto& made) { return purpose_of(made); });
  if (result == CUDA_ERROR_OUT_OF_MEMORY) refusal.purpose.size = wanted_by(call);
  if (!late) probes_wait_.store(true, std::memory_order_relaxed);
  if (sink_.fold_refusal(refusal.entry, result, late, stack, refusal.purpose)) return;
  refusal.result = result;
  refusal.late = late;
  if (const RuntimeCall* runtime = runtime_call()) refusal.runtime = runtime->name;
  refusal.arguments = describe_arguments(call);
  refusal.call_index = index;
  refusal.stack = stack;
  if (!late) refusal.driver_message = options_.log.about(name(refusal.entry));
  if (!late) {
    std::string reason = likely_reason(driver_, work_.questions(),
                                       {name(refusal.entry), result, given_arguments(call)});
    if (!reason.empty()) refusal.asides.push_back({"the likely reason: " + std::move(reason)});
  }
  add_surroundings(result, context_end(), refusal.asides);
  if (makes_descriptor(refusal.entry)) {
    DescriptorFacts descriptors = count_descriptors();
    if (descriptors.used_up()) {
      const Locked lock(mutex_);
      add_makers(history_, descriptors);
      refusal.asides.push_back({descriptors.text(), descriptors.most});
      result = CUDA_SUCCESS;  // memory is not the cause
    }
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    if (refusal.entry == EntryPoint::kMemAddressReserve) {
      const Locked lock(mutex_);
      refusal.addresses = address_facts(history_.model);
    } else {
      refusal.memory = memory_facts(call, refusal.asides);
    }
  }
  sink_.take_refusal(refusal);
}

std::optional<MemoryFacts> Session::memory_facts(const Call& call,
                                                 std::vector<Refusal::Aside>& asides) {
  Facts::Place place;
  facts_.find_context(place);
  MemoryFacts facts;
  facts.device = wanted_device(call, place.device);
  if (facts.device < 0) return std::nullopt;
  std::string live;
  bool pooled = false;
  {
    const Locked lock(mutex_);
    facts.held = held_memory(history_.model, facts.device);
    // What the program has freed may still be in the pool.
    pooled = uses_pools(history_.model, facts.device, facts.device == place.device) ||
             history_.causes.last_free().by.call != 0;
    live = mirror_.folder();
  }
  std::optional<DefaultPool> pool;
  if (pooled) {
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    pool = ask_default_pool(driver_, facts.device);
  }
  // Behind the pool, which gives memory back once a free has had its turn.
  if (facts.device == place.device) {
    // The question must not disturb a capture that goes on elsewhere.
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    std::size_t free = 0, total = 0;
    facts.measured = driver_(calls::MemGetInfo{&free, &total}) == CUDA_SUCCESS && free <= total;
    facts.free = free;
    facts.total = total;
  }
  if (pool) {
    if (pool->reserved > pool->used) facts.cached = pool->reserved - pool->used;
    const Locked lock(mutex_);
    facts.held.pools += unplaced_in(history_.model, facts.device, *pool);
    const std::size_t before = asides.size();
    note_queued_frees(history_, reinterpret_cast<std::uintptr_t>(pool->pool), pool->used, asides);
    if (asides.size() == before) note_done_frees(history_, facts, wanted_by(call), asides);
    const Origin& threshold = history_.causes.threshold_of(pool->pool);
    if (facts.cached != 0 && threshold.call != 0) {
      asides.push_back({"call " + std::to_string(threshold.call) +
                            " set the release threshold of the default pool: below it, the pool "
                            "keeps what is freed",
                        threshold.stack});
    }
  }
  // Each question to the neighbours may take a while, and a program may be refused many times in
  // different places.
  constexpr int kMostAsked = 8;
  if (!options_.others || neighbours_asked_.fetch_add(1) >= kMostAsked) return facts;
  const CancelOff no_cancel;
  facts.others = neighbours_on(facts.device, *options_.others, live, std::chrono::seconds(1));
  return facts;
}

}  // namespace cuvmm::shim
