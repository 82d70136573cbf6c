// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/host_chunks.h"

#include <cuda.h>

namespace cuvmm::emulator {

namespace {

std::uint64_t rounded(std::uint64_t size) {
  return (size + HostChunks::kUnit - 1) / HostChunks::kUnit * HostChunks::kUnit;
}

}  // namespace

HostChunks::Name HostChunks::take(const Context* context, std::uint64_t size, unsigned flags) {
  const std::uint64_t needed = rounded(size);
  // Write-combined memory has chunks of its own.
  const auto fits = [&](const Chunk& chunk) {
    return chunk.context == context && needed < kChunk && chunk.used < kChunk &&
           needed <= kChunk - chunk.used &&
           ((chunk.flags ^ flags) & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
  };
  for (auto& [name, chunk] : chunks_) {
    if (!fits(chunk)) continue;
    chunk.used += needed;
    return name;
  }
  const Name name = next_++;
  chunks_[name] = {context, flags, needed};
  return name;
}

void HostChunks::give(Name name, std::uint64_t size) {
  const auto found = chunks_.find(name);
  if (found == chunks_.end()) return;
  found->second.used -= rounded(size);
  if (found->second.used == 0) chunks_.erase(found);
}

unsigned HostChunks::flags(Name name) const {
  const auto found = chunks_.find(name);
  return found == chunks_.end() ? 0 : found->second.flags;
}

}  // namespace cuvmm::emulator
