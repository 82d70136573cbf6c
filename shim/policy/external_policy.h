// SPDX-License-Identifier: Apache-2.0
// Policies of external memory and external semaphores.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "shim/history/tracked.h"
#include "shim/policy/still_used.h"

namespace cuvmm::shim {

template <>
struct Policy<calls::ImportExternalMemory> {
  using Call = calls::ImportExternalMemory;
  struct Kept {
    std::string memory;  ///< the name of what is behind the descriptor, which the call may close
  };
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    if (!call.memHandleDesc) return;
    desk.driver.find_context(step.facts.write().place);
    if (const auto fd = descriptor(call)) {
      step.facts.write().sharing.descriptor_valid = FactFinder::descriptor_valid(*fd);
      step.kept.memory = memory_name(*fd);
    }
  }
  static void look(Desk& desk, const Call& call, LateFacts& facts) {
    const auto fd = descriptor(call);
    if (!fd) return;
    facts.write().external.object_size = desk.books.exported_size(*fd);
    // A driver may refuse that, too, for reasons of its own.
    if (desk.books.exports_allocation(*fd))
      facts.write().sharing.descriptor_valid = Facts::Answer::kYes;
  }
  static void record(Desk& desk, const Call& call, Step<Call>& step) {
    const auto handle = reinterpret_cast<std::uintptr_t>(*call.extMem_out);
    desk.books.imported[handle] = std::move(step.kept.memory);
    const auto fd = descriptor(call);
    if (!fd) return;
    desk.books.received.erase(*fd);  // the driver has it now
    g_tracked.add(*fd);
  }

 private:
  static std::optional<int> descriptor(const Call& call) {
    const auto* desc = call.memHandleDesc;
    if (!desc || desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) return std::nullopt;
    return desc->handle.fd;
  }
};

template <>
struct Policy<calls::ExternalMemoryGetMappedBuffer> {
  using Call = calls::ExternalMemoryGetMappedBuffer;
  static void made(Desk& desk, const Call& call, Step<Call>&) {
    desk.bounds.widen(*call.devPtr, call.bufferDesc->size);
    desk.work.watch(reinterpret_cast<std::uintptr_t>(call.extMem),
                    {{*call.devPtr, call.bufferDesc->size}, born_now(desk)});
  }
};

template <>
struct Policy<calls::DestroyExternalMemory> {
  using Call = calls::DestroyExternalMemory;
  using Kept = StillUsed;
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    if (!desk.work.active()) return;
    const auto object = reinterpret_cast<std::uintptr_t>(call.extMem);
    find_work_of(desk, object, step.kept, step);
  }
  static void made(Desk& desk, const Call& call, Step<Call>& step) {
    desk.work.unwatch(reinterpret_cast<std::uintptr_t>(call.extMem), step.origin.call);
  }
};

template <>
struct Policy<calls::ImportExternalSemaphore> {
  using Call = calls::ImportExternalSemaphore;
  static void ask(Desk& desk, const Call& call, Step<Call>& step) {
    desk.driver.find_context(step.facts.write().place);
    if (const auto fd = descriptor(call)) {
      step.facts.write().sharing.descriptor_valid = FactFinder::descriptor_valid(*fd);
    }
  }
  static void look(Desk& desk, const Call& call, LateFacts& facts) {
    const auto fd = descriptor(call);
    if (fd && desk.books.exports_allocation(*fd)) {
      facts.write().sharing.descriptor_kind = Facts::Answer::kNo;
    }
  }
  static void record(Desk&, const Call& call, Step<Call>&) {
    if (const auto fd = descriptor(call)) g_tracked.add(*fd);
  }

 private:
  static std::optional<int> descriptor(const Call& call) {
    const auto* desc = call.semHandleDesc;
    if (!desc || (desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
                  desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)) {
      return std::nullopt;
    }
    return desc->handle.fd;
  }
};

template <>
struct Policy<calls::SignalExternalSemaphoresAsync> : Anonymous {};

}  // namespace cuvmm::shim
