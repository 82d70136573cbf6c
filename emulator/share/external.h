// SPDX-License-Identifier: Apache-2.0
// Imported objects of other APIs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

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
struct ExternalObjects {
  std::unordered_map<CUexternalMemory, ImportedMemory> memories;
  /// Shared, because a wait outlives the lock.
  std::unordered_map<CUexternalSemaphore, std::shared_ptr<Semaphore>> semaphores;

  /// Looks like the pointers that drivers hand out, and is one to nothing.
  template <class Object>
  Object new_handle() {
    constexpr std::uintptr_t kBase = 0xe800000000;
    constexpr std::uintptr_t kStep = 0x100;
    return reinterpret_cast<Object>(kBase + ++last_ * kStep);
  }

 private:
  std::uintptr_t last_ = 0;
};

}  // namespace cuvmm::emulator
