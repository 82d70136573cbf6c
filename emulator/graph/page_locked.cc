// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/page_locked.h"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace cuvmm::emulator {

void note_page_locked(const Emulator& e, GraphNode& node) {
  node.page_locked.clear();
  const auto* const copy = std::get_if<CUDA_MEMCPY3D>(&node.params);
  if (!copy) return;
  const auto note = [&](CUmemorytype type, const void* host, Address device) {
    if (type == CU_MEMORYTYPE_ARRAY) return;
    const auto of_host = reinterpret_cast<std::uintptr_t>(host);
    const Address at = type == CU_MEMORYTYPE_HOST ? of_host : device;
    if (const HostBlock* const block = e.host.at(at)) node.page_locked.emplace_back(at, block->id);
  };
  note(copy->srcMemoryType, copy->srcHost, copy->srcDevice);
  note(copy->dstMemoryType, copy->dstHost, copy->dstDevice);
}

bool still_page_locked(const Emulator& e, const GraphNode& node) {
  return std::all_of(node.page_locked.begin(), node.page_locked.end(), [&](const auto& noted) {
    const HostBlock* const block = e.host.at(noted.first);
    return block && block->id == noted.second;
  });
}

}  // namespace cuvmm::emulator
