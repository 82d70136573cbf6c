// SPDX-License-Identifier: Apache-2.0
// Imported objects of other APIs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "emulator/machine/physical.h"
#include "emulator/machine/semaphore.h"
#include "emulator/objects/context.h"

namespace cuvmm::emulator {

/// A memory object, shared with whoever exported it.
struct ImportedMemory {
  Physical memory;
  Context* context = nullptr;  ///< current when it was imported; its buffers belong to it
};

/// The live ones of the process, by handle; values are never handed out twice.
class ExternalObjects {
 public:
  CUexternalMemory add(ImportedMemory&& memory);
  CUexternalSemaphore add(std::shared_ptr<Semaphore> semaphore);
  /// Null for what is none.
  ImportedMemory* find(CUexternalMemory handle);
  /// Shared, because a wait outlives the lock. Null for what is none.
  std::shared_ptr<Semaphore> find(CUexternalSemaphore handle) const;
  /// False for what is none.
  bool erase(CUexternalMemory handle);
  bool erase(CUexternalSemaphore handle);

 private:
  template <class Object>
  Object new_handle();

  std::unordered_map<CUexternalMemory, ImportedMemory> memories_;
  std::unordered_map<CUexternalSemaphore, std::shared_ptr<Semaphore>> semaphores_;
  std::uintptr_t last_ = 0;
};

}  // namespace cuvmm::emulator
