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

/// A memory object, shared with the process that exported it.
struct ImportedMemory {
  Physical memory;
  Context* context = nullptr;  ///< current at the import; the buffers belong to it
};

/// The live imported objects of the process, by handle; values are never given out twice.
class ExternalObjects {
 public:
  CUexternalMemory add(ImportedMemory&& memory);
  CUexternalSemaphore add(std::shared_ptr<Semaphore> semaphore);
  /// Null for a value that is no handle.
  ImportedMemory* find(CUexternalMemory handle);
  /// Shared, because a wait outlives the lock. Null for a value that is no handle.
  std::shared_ptr<Semaphore> find(CUexternalSemaphore handle) const;
  /// False for a value that is no handle.
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
