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
  struct CallState {
    std::string memory;  ///< the name of the memory behind the descriptor, which the call may close
  };
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (!call.memHandleDesc) return;
    resources.driver.find_context(step.facts.write().place);
    if (const auto fd = descriptor(call)) {
      step.facts.write().sharing.descriptor_valid = FactFinder::descriptor_valid(*fd);
      step.state.memory = memory_name(*fd);
    }
  }
  static void look(PolicyResources& resources, const Call& call, LateFacts& facts) {
    const auto fd = descriptor(call);
    if (!fd) return;
    facts.write().external.object_size = resources.history.exported_size(*fd);
    // A driver may refuse the descriptor of an allocation, too, for reasons of its own.
    if (resources.history.exports_allocation(*fd))
      facts.write().sharing.descriptor_valid = Facts::Answer::kYes;
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    const auto handle = reinterpret_cast<std::uintptr_t>(*call.extMem_out);
    resources.history.imported[handle] = std::move(step.state.memory);
    const auto fd = descriptor(call);
    if (!fd) return;
    resources.history.received.erase(*fd);  // the driver owns the descriptor now
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
  static void made(PolicyResources& resources, const Call& call, Step<Call>&) {
    resources.bounds.widen(*call.devPtr, call.bufferDesc->size);
    resources.work.watch(reinterpret_cast<std::uintptr_t>(call.extMem),
                         {{*call.devPtr, call.bufferDesc->size}, born_now(resources)});
  }
};

template <>
struct Policy<calls::DestroyExternalMemory> {
  using Call = calls::DestroyExternalMemory;
  using CallState = StillUsed;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (!resources.work.active()) return;
    const auto object = reinterpret_cast<std::uintptr_t>(call.extMem);
    find_work_of(resources, object, step.state, step);
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.work.unwatch(reinterpret_cast<std::uintptr_t>(call.extMem), step.origin.call);
  }
};

template <>
struct Policy<calls::ImportExternalSemaphore> {
  using Call = calls::ImportExternalSemaphore;
  static void ask(PolicyResources& resources, const Call& call, Step<Call>& step) {
    resources.driver.find_context(step.facts.write().place);
    if (const auto fd = descriptor(call)) {
      step.facts.write().sharing.descriptor_valid = FactFinder::descriptor_valid(*fd);
    }
  }
  static void look(PolicyResources& resources, const Call& call, LateFacts& facts) {
    const auto fd = descriptor(call);
    if (fd && resources.history.exports_allocation(*fd)) {
      facts.write().sharing.descriptor_kind = Facts::Answer::kNo;
    }
  }
  static void record(PolicyResources&, const Call& call, Step<Call>&) {
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
