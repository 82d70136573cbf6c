// SPDX-License-Identifier: Apache-2.0
// Policies of stream-ordered pools.
#pragma once

#include "api/location.h"
#include "shim/policy/share_policy.h"
#include "shim/policy/still_used.h"
#include "shim/queued_work/places.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::MemPoolImportFromShareableHandle> {
  using Call = calls::MemPoolImportFromShareableHandle;
  static void ask(PolicyResources&, const Call& call, Step<Call>& step) {
    step.facts.write().sharing.descriptor_valid =
        FactFinder::descriptor_valid(call.handle, call.handleType);
  }
  static void look(PolicyResources& resources, const Call& call, LateFacts& facts) {
    const auto fd = descriptor_of(call.handle, call.handleType);
    if (fd && resources.history.exports_allocation(*fd)) {
      facts.write().sharing.descriptor_kind = Facts::Answer::kNo;
    }
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.describe_pool(*call.pool_out, step.facts.write().pool);
  }
};

/// Policies of memory that begins in the order of a stream.
template <class CallStruct>
struct AllocatesInOrder {
  static void ask(PolicyResources& resources, const CallStruct&, Step<CallStruct>&) {
    resources.work.wake();
  }
  static void made(PolicyResources& resources, const CallStruct& call, Step<CallStruct>& step) {
    const bool captured = resources.work.captured(call.hStream, step.facts.read().place.per_thread);
    resources.work.watch(*call.dptr, {{*call.dptr, call.bytesize}, born_now(resources), !captured});
    if (captured) [[unlikely]]
      step.facts.write().pool.captured = true;
  }
  static void note_captured(PolicyResources& resources, const CallStruct& call,
                            const Step<CallStruct>& step) {
    if (!step.facts.read().pool.captured) [[likely]]
      return;
    resources.history.causes.captured(*call.dptr, call.bytesize, step.origin);
  }
};

template <>
struct Policy<calls::MemAllocFromPoolAsync> : AllocatesInOrder<calls::MemAllocFromPoolAsync> {
  using Call = calls::MemAllocFromPoolAsync;
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    note_captured(resources, call, step);
    // Memory that every device may touch need not be judged.
    if (resources.history.model.pools().bounded_memory_at(*call.dptr)) {
      resources.bounds.widen(*call.dptr, call.bytesize);
    }
    const auto place = known_place(resources.history.model, *call.dptr);
    if (place && *place != Place::kDevice) resources.work.reaches_host(*call.dptr, call.bytesize);
  }
};

template <>
struct Policy<calls::MemAllocAsync> : AllocatesInOrder<calls::MemAllocAsync> {
  using Call = calls::MemAllocAsync;
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    note_captured(resources, call, step);
  }
};

template <>
struct Policy<calls::MemFreeAsync> {
  using Call = calls::MemFreeAsync;
  using CallState = StillUsed;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (!resources.work.active()) return;
    const QueuedWork::Ticket ticket =
        resources.work.enter(call.hStream, step.facts.read().place.per_thread);
    if (ticket) find_work_of(resources, call.dptr, step.state, step, &ticket);
    resources.work.cancel(ticket);
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.work.unwatch(call.dptr, step.origin.call);
    if (resources.work.captured(call.hStream, step.facts.read().place.per_thread)) [[unlikely]]
      step.facts.write().pool.captured = true;
  }
  // The next launch looks again at arguments that were right.
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    ProcessHistory& history = resources.history;
    if (history.causes.knows_node_memory()) {
      step.facts.read().pool.captured ? history.causes.captured_free(call.dptr)
                                      : history.causes.freed(call.dptr, step.origin);
    }
    history.ipc_log.pool_memory_freed(call.dptr, step.origin);
    history.causes.freed_in_order(reinterpret_cast<std::uintptr_t>(call.hStream), step.origin);
    if (resources.work.active()) resources.work.arguments().changed();
  }
};

template <>
struct Policy<calls::MemPoolImportPointer> {
  using Call = calls::MemPoolImportPointer;
  struct CallState {
    std::uint64_t began = 0;  ///< on IpcLog's clock
  };
  static void ask(PolicyResources&, const Call&, Step<Call>& step) {
    step.state.began = IpcLog::now();
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.find_pool_memory(*call.ptr_out, step.facts.write().pool);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (call.shareData) {
      resources.history.ipc_log.imported(ipc_bytes(*call.shareData), *call.ptr_out, step.origin,
                                         step.state.began);
    }
    const PoolMemory* memory = resources.history.model.pools().bounded_memory_at(*call.ptr_out);
    if (memory) resources.bounds.widen(memory->base, memory->size + 1);
  }
};

template <>
struct Policy<calls::MemPoolExportPointer> {
  using Call = calls::MemPoolExportPointer;
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.history.ipc_log.exported(ipc_bytes(*call.shareData_out), call.ptr, step.origin, true);
  }
  static CUmemoryPool unknown_pool(const Model& model, const calls::MemPoolExportPointer& call) {
    const PoolMemory* memory = model.pools().memory_at(call.ptr);
    const bool unknown = memory && !model.pools().find(memory->pool);
    return unknown ? reinterpret_cast<CUmemoryPool>(memory->pool) : nullptr;
  }
};

template <>
struct Policy<calls::MemPoolTrimTo> {
  static void record(PolicyResources& resources, const calls::MemPoolTrimTo&,
                     Step<calls::MemPoolTrimTo>& step) {
    resources.history.causes.trimmed(step.origin);
  }
};
template <>
struct Policy<calls::MemPoolSetAttribute> {
  using Call = calls::MemPoolSetAttribute;
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (call.attr != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return;
    resources.history.causes.threshold_set(call.pool, step.origin);
  }
};
template <>
struct Policy<calls::MemPoolExportToShareableHandle> {
  using Call = calls::MemPoolExportToShareableHandle;
  struct CallState {
    DescriptorIdentity identity;
  };
  static void made(PolicyResources&, const Call& call, Step<Call>& step) {
    if (const int* fd = descriptor(call)) step.state.identity = identify_descriptor(*fd);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    const int* const fd = descriptor(call);
    if (!fd) return;
    ProcessHistory& history = resources.history;
    history.received.erase(*fd);
    history.exported[*fd] = std::move(step.state.identity);
    history.exported_pools[*fd] = {*fd, reinterpret_cast<std::uintptr_t>(call.pool), 0,
                                   step.origin};
    g_tracked.add(*fd);
  }

 private:
  static const int* descriptor(const Call& call) {
    const bool is_one = call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return is_one ? static_cast<const int*>(call.handle_out) : nullptr;
  }
};
template <>
struct Policy<calls::MemPoolSetAccess> : Anonymous {};
template <>
struct Policy<calls::DeviceSetMemPool> : Anonymous {};
template <>
struct Policy<calls::DeviceGetDefaultMemPool> : Anonymous {};
template <>
struct Policy<calls::MemGetDefaultMemPool> : Anonymous {};
template <>
struct Policy<calls::MemSetMemPool> : Anonymous {};

/// A pool that the driver hands out may be the default pool of its place, which no call makes, or a
/// call that the session did not see may have made it.
inline void learn_pool(PolicyResources& resources, CUmemoryPool pool, const CUmemLocation& place,
                       CUmemAllocationType type, Facts::Pool& facts) {
  {
    const Locked lock(resources.mutex);
    if (resources.history.model.pools().find(pool)) return;
  }
  resources.driver.find_default(pool, place, type, facts);
  if (facts.is_default != Facts::Answer::kYes) resources.driver.describe_pool(pool, facts);
}

template <>
struct Policy<calls::DeviceGetMemPool> : Anonymous {
  using Call = calls::DeviceGetMemPool;
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    learn_pool(resources, *call.pool, make_location(kLocationDevice, call.dev),
               CU_MEM_ALLOCATION_TYPE_PINNED, step.facts.write().pool);
  }
};
template <>
struct Policy<calls::MemGetMemPool> : Anonymous {
  using Call = calls::MemGetMemPool;
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    learn_pool(resources, *call.pool, *call.location, call.type, step.facts.write().pool);
  }
};

}  // namespace cuvmm::shim
