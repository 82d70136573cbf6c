// SPDX-License-Identifier: Apache-2.0
// Imported objects of other APIs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "emulator/context/context.h"
#include "emulator/machine/physical.h"
#include "emulator/machine/semaphore.h"

namespace cuvmm::emulator {

/// A memory object, shared with whoever exported it.
struct ImportedMemory {
  Physical memory;
  Context* context = nullptr;  ///< current when it was imported; its buffers belong to it
};

/// The live ones of the process, by handle; values are never handed out twice.
class ExternalObjects {
 public:
  CUexternalMemory add(ImportedMemory&& memory) {
    const auto handle = new_handle<CUexternalMemory>();
    memories_.emplace(handle, std::move(memory));
    return handle;
  }
  CUexternalSemaphore add(std::shared_ptr<Semaphore> semaphore) {
    const auto handle = new_handle<CUexternalSemaphore>();
    semaphores_.emplace(handle, std::move(semaphore));
    return handle;
  }
  /// Null for what is none.
  ImportedMemory* find(CUexternalMemory handle) {
    const auto found = memories_.find(handle);
    return found == memories_.end() ? nullptr : &found->second;
  }
  /// Shared, because a wait outlives the lock. Null for what is none.
  std::shared_ptr<Semaphore> find(CUexternalSemaphore handle) const {
    const auto found = semaphores_.find(handle);
    return found == semaphores_.end() ? nullptr : found->second;
  }
  /// False for what is none.
  bool erase(CUexternalMemory handle) { return memories_.erase(handle) != 0; }
  bool erase(CUexternalSemaphore handle) { return semaphores_.erase(handle) != 0; }

 private:
  /// Looks like the pointers that drivers hand out, and is one to nothing.
  template <class Object>
  Object new_handle() {
    constexpr std::uintptr_t kBase = 0xe800000000;
    constexpr std::uintptr_t kStep = 0x100;
    return reinterpret_cast<Object>(kBase + ++last_ * kStep);
  }

  std::unordered_map<CUexternalMemory, ImportedMemory> memories_;
  std::unordered_map<CUexternalSemaphore, std::shared_ptr<Semaphore>> semaphores_;
  std::uintptr_t last_ = 0;
};

}  // namespace cuvmm::emulator
