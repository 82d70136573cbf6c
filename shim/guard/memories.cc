// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/memories.h"

namespace cuvmm::shim {

void Memories::created(std::uint64_t handle) {
  handles_.insert_or_assign(handle, std::make_shared<Memory>());
}

void Memories::imported(std::uint64_t handle) {
  // A driver may return one value for each import of some memory, and for the exporter's own
  // handle.
  const auto known = handles_.find(handle);
  if (known != handles_.end() && known->second->references != 0) {
    ++known->second->references;
    known->second->shared = true;
    return;
  }
  auto memory = std::make_shared<Memory>();
  memory->shared = true;
  handles_.insert_or_assign(handle, std::move(memory));
}

void Memories::retained(std::uint64_t handle, std::uint64_t address) {
  const auto mapping = first_after(address);
  if (mapping == mappings_.end() || mapping->second.base > address) return;
  const std::shared_ptr<Memory>& memory = mapping->second.memory;
  if (!memory) return;
  ++memory->references;
  handles_[handle] = memory;
}

void Memories::released(std::uint64_t handle) {
  const auto known = handles_.find(handle);
  if (known == handles_.end()) return;
  std::uint32_t& references = known->second->references;
  if (references != 0) --references;
  if (references == 0) handles_.erase(known);
}

void Memories::restore(std::uint64_t handle, const std::shared_ptr<Memory>& memory) {
  ++memory->references;
  handles_[handle] = memory;
}

void Memories::share(std::uint64_t handle) {
  const auto known = handles_.find(handle);
  if (known != handles_.end()) known->second->shared = true;
}

void Memories::share_mapped(std::uint64_t address, std::uint64_t size) {
  for (auto at = first_after(address); at != mappings_.end(); ++at) {
    const MappedMemory& mapped = at->second;
    if (mapped.base >= address && mapped.base - address >= size) return;
    if (mapped.memory) mapped.memory->shared = true;
  }
}

std::shared_ptr<Memory> Memories::find(std::uint64_t handle) const {
  const auto known = handles_.find(handle);
  return known == handles_.end() ? nullptr : known->second;
}

void Memories::map(const MappedMemory& mapped) {
  mappings_.insert_or_assign(mapped.base, mapped);
  if (mapped.memory) ++mapped.memory->mappings;
}

Memories::Map::const_iterator Memories::first_after(std::uint64_t address) const {
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.begin()) return at;
  const auto before = std::prev(at);
  return address - before->second.base < before->second.size ? before : at;
}

std::vector<MappedMemory> Memories::take(std::uint64_t address, std::uint64_t size, bool& whole) {
  whole = true;
  std::vector<MappedMemory> taken;
  for (auto at = first_after(address); at != mappings_.end();) {
    const MappedMemory& mapped = at->second;
    if (mapped.base >= address && mapped.base - address >= size) break;
    const bool inside = mapped.base >= address && mapped.size <= size - (mapped.base - address);
    if (!inside) {
      whole = false;
      ++at;
      continue;
    }
    if (mapped.memory) --mapped.memory->mappings;
    taken.push_back(mapped);
    at = mappings_.erase(at);
  }
  return taken;
}

void Memories::put_back(const std::vector<MappedMemory>& taken) {
  for (const MappedMemory& mapped : taken) map(mapped);
}

std::vector<MappedMemory> Memories::inside(std::uint64_t address, std::uint64_t size) const {
  std::vector<MappedMemory> found;
  for (auto at = first_after(address); at != mappings_.end(); ++at) {
    const MappedMemory& mapped = at->second;
    if (mapped.base >= address && mapped.base - address >= size) break;
    if (mapped.base >= address && mapped.size <= size - (mapped.base - address)) {
      found.push_back(mapped);
    }
  }
  return found;
}

bool Memories::mapped(std::uint64_t address, std::uint64_t size) const {
  const auto at = first_after(address);
  return at != mappings_.end() && (at->second.base < address || at->second.base - address < size);
}

}  // namespace cuvmm::shim
