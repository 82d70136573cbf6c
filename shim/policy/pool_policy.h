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
  static void ask(Desk&, const Call& call, Step<Call>& step) {
    step.facts.write().sharing.descriptor_valid =
        FactFinder::descriptor_valid(call.handle, call.handleType);
  }
  static void look(Desk& desk, const Call& call, LateFacts& facts) {
    const auto fd = descriptor_of(call.handle, call.handleType);
    if (fd && desk.books.exports_allocation(*fd)) {
      facts.write().sharing.descriptor_kind = Facts::Answer::kNo;
    }
  }
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    desk.driver.describe_pool(*call.pool_out, step.facts.write().pool);
  }
};

/// Of memory that comes in the order of a stream.
template <class CallStruct>
struct AllocatesInOrder {
  static void ask(Desk& desk, const CallStruct&, Step<CallStruct>&) { desk.work.wake(); }
  static void made(Desk& desk, const CallStruct& call, Step<CallStruct>& step) {
    const bool captured = desk.work.captured(call.hStream, step.facts.read().place.per_thread);
    desk.work.watch(*call.dptr, {{*call.dptr, call.bytesize}, born_now(desk), !captured});
    if (captured) [[unlikely]]
      step.facts.write().pool.captured = true;
  }
  static void note_captured(Desk& desk, const CallStruct& call, const Step<CallStruct>& step) {
    if (!step.facts.read().pool.captured) [[likely]]
      return;
    desk.books.causes.captured(*call.dptr, call.bytesize, step.origin);
  }
};

template <>
struct Policy<calls::MemAllocFromPoolAsync> : AllocatesInOrder<calls::MemAllocFromPoolAsync> {
  using Call = calls::MemAllocFromPoolAsync;
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    note_captured(desk, call, step);
    // What every device may touch need not be judged.
    if (desk.books.model.pools().bounded_memory_at(*call.dptr)) {
      desk.bounds.widen(*call.dptr, call.bytesize);
    }
    const auto place = known_place(desk.books.model, *call.dptr);
    if (place && *place != Place::kDevice) desk.work.reaches_host(*call.dptr, call.bytesize);
  }
};

template <>
struct Policy<calls::MemAllocAsync> : AllocatesInOrder<calls::MemAllocAsync> {
  using Call = calls::MemAllocAsync;
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    note_captured(desk, call, step);
  }
};

template <>
struct Policy<calls::MemFreeAsync> {
  using Call = calls::MemFreeAsync;
  using Kept = StillUsed;
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    if (!desk.work.active()) return;
    const QueuedWork::Ticket ticket =
        desk.work.enter(call.hStream, step.facts.read().place.per_thread);
    if (ticket) find_work_of(desk, call.dptr, step.kept, step, &ticket);
    desk.work.cancel(ticket);
  }
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    desk.work.unwatch(call.dptr, step.origin.call);
  }
  // Arguments that were good are looked at again.
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    Books& books = desk.books;
    if (books.causes.knows_node_memory()) books.causes.freed(call.dptr);
    books.ipc_log.pool_memory_freed(call.dptr, step.origin);
    books.causes.freed_in_order(reinterpret_cast<std::uintptr_t>(call.hStream), step.origin);
    if (desk.work.active()) desk.work.arguments().changed();
  }
};

template <>
struct Policy<calls::MemPoolImportPointer> {
  using Call = calls::MemPoolImportPointer;
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    desk.driver.find_pool_memory(*call.ptr_out, step.facts.write().pool);
  }
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    if (call.shareData) {
      desk.books.ipc_log.opened(ipc_bytes(*call.shareData), *call.ptr_out, step.origin, true);
    }
    const PoolMemory* memory = desk.books.model.pools().bounded_memory_at(*call.ptr_out);
    if (memory) desk.bounds.widen(memory->base, memory->size + 1);
  }
};

template <>
struct Policy<calls::MemPoolExportPointer> {
  using Call = calls::MemPoolExportPointer;
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    desk.books.ipc_log.exported(ipc_bytes(*call.shareData_out), call.ptr, step.origin, true);
  }
  static CUmemoryPool strange_pool(const Model& model, const calls::MemPoolExportPointer& call) {
    const PoolMemory* memory = model.pools().memory_at(call.ptr);
    const bool strange = memory && !model.pools().find(memory->pool);
    return strange ? reinterpret_cast<CUmemoryPool>(memory->pool) : nullptr;
  }
};

template <>
struct Policy<calls::MemPoolTrimTo> {
  static void record(Desk& desk, const calls::MemPoolTrimTo&, Step<calls::MemPoolTrimTo>& step) {
    desk.books.causes.trimmed(step.origin);
  }
};
template <>
struct Policy<calls::MemPoolSetAttribute> {
  using Call = calls::MemPoolSetAttribute;
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    if (call.attr != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return;
    desk.books.causes.threshold_set(call.pool, step.origin);
  }
};
template <>
struct Policy<calls::MemPoolExportToShareableHandle> : Anonymous {};
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

/// A pool that is handed out may be the default one of its place, which is there without being
/// made, or may have been made where we did not see it.
inline void learn_pool(Desk& desk, CUmemoryPool pool, const CUmemLocation& place,
                       CUmemAllocationType type, Facts::Pool& facts) {
  {
    const Locked lock(desk.mutex);
    if (desk.books.model.pools().find(pool)) return;
  }
  desk.driver.find_default(pool, place, type, facts);
  if (facts.is_default != Facts::Answer::kYes) desk.driver.describe_pool(pool, facts);
}

template <>
struct Policy<calls::DeviceGetMemPool> : Anonymous {
  using Call = calls::DeviceGetMemPool;
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    learn_pool(desk, *call.pool, make_location(kLocationDevice, call.dev),
               CU_MEM_ALLOCATION_TYPE_PINNED, step.facts.write().pool);
  }
};
template <>
struct Policy<calls::MemGetMemPool> : Anonymous {
  using Call = calls::MemGetMemPool;
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    learn_pool(desk, *call.pool, *call.location, call.type, step.facts.write().pool);
  }
};

}  // namespace cuvmm::shim
