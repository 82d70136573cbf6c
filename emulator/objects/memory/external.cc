// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/external.h"

#include <utility>

namespace cuvmm::emulator {

// Makes a handle that looks like the pointers that drivers give out, and points to nothing.
template <class Object>
Object ExternalObjects::new_handle() {
  constexpr std::uintptr_t kBase = 0xe800000000;
  constexpr std::uintptr_t kStep = 0x100;
  return reinterpret_cast<Object>(kBase + ++last_ * kStep);
}

CUexternalMemory ExternalObjects::add(ImportedMemory&& memory) {
  const auto handle = new_handle<CUexternalMemory>();
  memories_.emplace(handle, std::move(memory));
  return handle;
}

CUexternalSemaphore ExternalObjects::add(std::shared_ptr<Semaphore> semaphore) {
  const auto handle = new_handle<CUexternalSemaphore>();
  semaphores_.emplace(handle, std::move(semaphore));
  return handle;
}

ImportedMemory* ExternalObjects::find(CUexternalMemory handle) {
  const auto found = memories_.find(handle);
  return found == memories_.end() ? nullptr : &found->second;
}

std::shared_ptr<Semaphore> ExternalObjects::find(CUexternalSemaphore handle) const {
  const auto found = semaphores_.find(handle);
  return found == semaphores_.end() ? nullptr : found->second;
}

bool ExternalObjects::erase(CUexternalMemory handle) { return memories_.erase(handle) != 0; }

bool ExternalObjects::erase(CUexternalSemaphore handle) { return semaphores_.erase(handle) != 0; }

}  // namespace cuvmm::emulator
