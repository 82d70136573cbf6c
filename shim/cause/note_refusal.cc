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
#include "shim/cause/pool_facts.h"
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

bool takes_fabric(EntryPoint entry) {
  return entry == EntryPoint::kMulticastCreate || entry == EntryPoint::kMulticastBindMem ||
         entry == EntryPoint::kMulticastBindAddr || entry == EntryPoint::kMulticastBindMem_v2 ||
         entry == EntryPoint::kMulticastBindAddr_v2;
}

std::uint64_t wanted_by(const Call& call) {
  return visit_call<std::uint64_t>(call, [](const auto& made) { return wanted_size(made); });
}

// Frees that waited for their turn when the driver refused the call may be over by now.
void note_done_frees(const ProcessHistory& history, const MemoryFacts& facts, std::uint64_t wanted,
                     std::vector<Refusal::Aside>& asides) {
  const Causes::QueuedFree& last = history.causes.last_free();
  if (last.by.call == 0 || wanted == 0 || !facts.measured) return;
  if (facts.free >= wanted) {
    asides.push_back({"there is room by now: perhaps the cuMemFreeAsync of call " +
                          std::to_string(last.by.call) + " had to wait for its turn on stream " +
                          hex_text(last.stream) + ". Wait for the stream first",
                      last.by.stack});
  } else if (facts.free + facts.cached + facts.cached_in_created < wanted) {
    return;
  }
  note_early_trim(history.causes, asides);
}

// `left`: launches may have left memory allocated.
void ask_graph_memory(const Questions& ask, bool captures, bool left, MemoryFacts& facts) {
  if (!ask.graph_memory) return;
  const RelaxedCapture relaxed(ask, captures);
  cuuint64_t used = 0, reserved = 0;
  const auto value = [&](CUgraphMem_attribute which, cuuint64_t& out) {
    return ask.graph_memory(facts.device, which, &out) == CUDA_SUCCESS;
  };
  if (!value(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, used) ||
      !value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, reserved))
    return;
  // An H100 counts idle memory as used, too: there it is idle for certain if no launch has left
  // any.
  if (used == reserved && !left) used = 0;
  facts.graphs = used;
  facts.graphs_idle = reserved > used ? reserved - used : 0;
}

// Adds what the pools hold and keep to the facts, and says what helps.
void add_pools(const ProcessHistory& history, const std::vector<PoolFacts>& pools,
               std::uint64_t wanted, MemoryFacts& facts, std::vector<Refusal::Aside>& asides) {
  const std::size_t before = asides.size();
  for (const PoolFacts& pool : pools) {
    (pool.is_default() ? facts.cached : facts.cached_in_created) += pool.idle();
    facts.held.pools += unplaced_in(history.model, facts.device, pool);
    note_queued_frees(history.model, history.causes, pool, asides);
  }
  if (asides.size() != before) {
    note_early_trim(history.causes, asides);
  } else {
    note_done_frees(history, facts, wanted, asides);
  }
  for (const PoolFacts& pool : pools) note_idle(history.causes, pool, asides);
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
    // A multicast object and its binds take resources of the fabric, and none of the device's
    // memory.
    if (takes_fabric(refusal.entry)) {
      sink_.take_refusal(refusal);
      return;
    }
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
  bool pooled = false, graphs = false;
  {
    const Locked lock(mutex_);
    facts.held = held_memory(history_.model, facts.device);
    // Memory that the program has freed may still be in the pool.
    pooled = uses_pools(history_.model, facts.device, facts.device == place.device) ||
             history_.causes.last_free().by.call != 0;
    graphs = history_.causes.knows_node_memory();
    live = mirror_.folder();
  }
  std::vector<PoolFacts> pools;
  if (pooled) {
    // A pool that another thread destroys is not asked any more: the model loses the pool before
    // the driver does, and the destroying thread waits for these questions in between.
    const PoolQuestions::Asking asking(pool_questions_);
    {
      const Locked lock(mutex_);
      pools = created_pools(history_.model, facts.device);
    }
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    std::erase_if(pools, [&](PoolFacts& one) { return !ask_pool(driver_, one); });
    PoolFacts common;
    if (ask_default_pool(driver_, facts.device, common)) pools.insert(pools.begin(), common);
  }
  if (graphs) {
    bool left = false;
    {
      const Locked lock(mutex_);
      left = history_.causes.may_have_left();
    }
    ask_graph_memory(work_.questions(), work_.captures(), left, facts);
  }
  // Behind the pools, which give memory back once a free has had its turn.
  if (facts.device == place.device) {
    // The question must not disturb a capture that goes on elsewhere.
    const RelaxedCapture relaxed(work_.questions(), work_.captures());
    std::size_t free = 0, total = 0;
    facts.measured = driver_(calls::MemGetInfo{&free, &total}) == CUDA_SUCCESS && free <= total;
    facts.free = free;
    facts.total = total;
  }
  if (!pools.empty()) {
    const Locked lock(mutex_);
    add_pools(history_, pools, wanted_by(call), facts, asides);
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
