// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/places.h"

#include <array>
#include <cstdint>

namespace cuvmm::shim {

std::optional<Place> known_place(const Model& model, std::uint64_t address) {
  if (const Mapping* const mapping = model.mapping_at(address)) {
    return (mapping->access.read & AccessMask::kHostBit) != 0 ? Place::kPinned : Place::kDevice;
  }
  if (const PoolMemory* const memory = model.pools().memory_at(address)) {
    if (memory->managed) return Place::kManaged;
    if (memory->on_host()) return Place::kPinned;
    if (is_device(memory->location)) return Place::kDevice;
    return std::nullopt;
  }
  const PlainMemory* const plain = model.memory().at(address);
  if (!plain) return std::nullopt;
  using Kind = PlainMemory::Kind;
  if (plain->kind == Kind::kManaged) return Place::kManaged;
  const bool host = plain->kind == Kind::kHost || plain->kind == Kind::kRegistered;
  return host ? Place::kPinned : Place::kDevice;
}

PlaceInDriver ask_place(const Questions& ask, CUdeviceptr address) {
  if (!ask.pointer_attributes) return {};
  // The attributes have different widths, and none is wider than a word.
  std::uint64_t type = 0, managed = 0, synchronous = 0;
  std::array attributes = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                           CU_POINTER_ATTRIBUTE_SYNC_MEMOPS};
  std::array<void*, attributes.size()> out = {&type, &managed, &synchronous};
  const CUresult answer = ask.pointer_attributes(static_cast<unsigned>(attributes.size()),
                                                 attributes.data(), out.data(), address);
  if (answer != CUDA_SUCCESS) return {};
  const bool always = synchronous != 0;
  if (managed != 0) return {Place::kManaged, always};
  if (type == CU_MEMORYTYPE_DEVICE) return {Place::kDevice, always};
  if (type == CU_MEMORYTYPE_HOST) return {Place::kPinned, always};
  return {type == 0 ? Place::kPageable : Place::kUnknown, always};
}

bool context_has_sync_memops(const Questions& ask) {
  constexpr unsigned kSyncMemops = 0x80;  // CU_CTX_SYNC_MEMOPS, CUDA 12.1
  unsigned flags = 0;
  return ask.context_flags && ask.context_flags(&flags) == CUDA_SUCCESS &&
         (flags & kSyncMemops) != 0;
}

}  // namespace cuvmm::shim
