// SPDX-License-Identifier: Apache-2.0
// Policies of stream-ordered pools.
#pragma once

#include "shim/policy/policy.h"
#include "shim/policy/share_policy.h"

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
};

template <>
struct Policy<calls::MemAllocFromPoolAsync> {
  using Call = calls::MemAllocFromPoolAsync;
  static void record(Desk& desk, const Call& call, Step<Call>&) {
    // What every device may touch need not be judged.
    if (desk.books.model.pools().bounded_memory_at(*call.dptr)) {
      desk.bounds.widen(*call.dptr, call.bytesize);
    }
  }
};

template <>
struct Policy<calls::MemPoolImportPointer> {
  using Call = calls::MemPoolImportPointer;
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    desk.driver.find_pool_memory(*call.ptr_out, step.facts.write().pool);
  }
  static void record(Desk& desk, const Call& call, Step<Call>&) {
    const PoolMemory* memory = desk.books.model.pools().bounded_memory_at(*call.ptr_out);
    if (memory) desk.bounds.widen(memory->base, memory->size + 1);
  }
};

template <>
struct Policy<calls::MemPoolExportPointer> {
  static CUmemoryPool strange_pool(const Model& model, const calls::MemPoolExportPointer& call) {
    const PoolMemory* memory = model.pools().memory_at(call.ptr);
    const bool strange = memory && !model.pools().find(memory->pool);
    return strange ? reinterpret_cast<CUmemoryPool>(memory->pool) : nullptr;
  }
};

template <>
struct Policy<calls::MemPoolExportToShareableHandle> : Anonymous {};
template <>
struct Policy<calls::MemPoolSetAccess> : Anonymous {};
template <>
struct Policy<calls::DeviceSetMemPool> : Anonymous {};

}  // namespace cuvmm::shim
