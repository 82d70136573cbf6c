// SPDX-License-Identifier: Apache-2.0
// Policies of memory that is shared by descriptors.
#pragma once

#include <climits>
#include <optional>
#include <string>
#include <utility>

#include "rulebook/vmm/left_dma_buf.h"
#include "shim/history/tracked.h"
#include "shim/policy/policy.h"

namespace cuvmm::shim {

/// The descriptor that an import names; nullopt if it names none.
inline std::optional<int> descriptor_of(const void* handle, CUmemAllocationHandleType type) {
  const auto value = reinterpret_cast<std::intptr_t>(handle);
  const bool by_value = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && value >= 0;
  return by_value && value <= INT_MAX ? std::optional(static_cast<int>(value)) : std::nullopt;
}

template <>
struct Policy<calls::MemExportToShareableHandle> {
  using Call = calls::MemExportToShareableHandle;
  struct CallState {
    DescriptorIdentity identity;
  };
  static void made(PolicyResources&, const Call& call, Step<Call>& step) {
    if (const int* fd = descriptor(call)) step.state.identity = identify_descriptor(*fd);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (const int* fd = descriptor(call)) {
      resources.history.received.erase(*fd);
      resources.history.exported_pools.erase(*fd);
      resources.history.exported[*fd] = std::move(step.state.identity);
      g_tracked.add(*fd);
    }
  }

 private:
  static const int* descriptor(const Call& call) {
    const bool is_one = call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return is_one ? static_cast<const int*>(call.shareableHandle) : nullptr;
  }
};

template <>
struct Policy<calls::MemImportFromShareableHandle> {
  using Call = calls::MemImportFromShareableHandle;
  struct CallState {
    std::string memory;  ///< the name of the memory behind the descriptor, which the call may close
    bool is_memory = true;
  };
  static void ask(PolicyResources&, const Call& call, Step<Call>& step) {
    step.facts.write().sharing.descriptor_valid =
        FactFinder::descriptor_valid(call.osHandle, call.shHandleType);
    const auto fd = descriptor_of(call.osHandle, call.shHandleType);
    if (fd) step.state.memory = memory_name(*fd);
  }
  static void made(PolicyResources& resources, const Call& call, Step<Call>& step) {
    step.facts.write().sharing.imported =
        resources.driver.describe_import(*call.handle, step.state.is_memory);
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    // A driver describes memory, and refuses to describe a multicast object.
    if (!step.state.is_memory) {
      MulticastObject unknown;
      unknown.handle = *call.handle;
      resources.history.model.import_multicast(std::move(unknown), step.origin);
    }
    resources.history.imported[*call.handle] = std::move(step.state.memory);
    const auto fd = descriptor_of(call.osHandle, call.shHandleType);
    if (!fd || resources.history.model.exports().contains(*fd)) return;
    const Allocation* const made = resources.history.model.allocation(*call.handle);
    resources.history.received[*fd] = {
        {*fd, *call.handle, made ? made->size : 0, step.origin}, false, 0, {}, {}};
    g_tracked.add(*fd);
  }
};

template <>
struct Policy<calls::MemGetHandleForAddressRange> {
  using Call = calls::MemGetHandleForAddressRange;
  struct CallState {
    DescriptorIdentity identity;
  };
  static void made(PolicyResources&, const Call& call, Step<Call>& step) {
    if (call.handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) return;
    step.state.identity = identify_descriptor(*static_cast<const int*>(call.handle));
  }
  static void record(PolicyResources& resources, const Call& call, Step<Call>& step) {
    if (call.handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) return;
    const int fd = *static_cast<const int*>(call.handle);
    resources.history.received[fd] = {{fd, 0, call.size, step.origin},
                                      true,
                                      call.dptr,
                                      memory_behind(resources.history.model, call.dptr),
                                      std::move(step.state.identity)};
    g_tracked.add(fd);
  }
};

}  // namespace cuvmm::shim
