// SPDX-License-Identifier: Apache-2.0
// The chunks of 2 MiB that a driver cuts small page-locked memory from. The emulator does not copy
// the memory's place in a chunk; it copies the flags, because a program can query them, and a
// chunk's flags are those of the first memory in it, whatever the other memory was requested with
// (measured).
#pragma once

#include <cstdint>
#include <map>

namespace cuvmm::emulator {

struct Context;

class HostChunks {
 public:
  using Name = std::uint64_t;
  static constexpr std::uint64_t kChunk = 2 << 20;
  static constexpr std::uint64_t kUnit = 512;  ///< sizes are rounded up to a multiple of it

  /// The chunk for new memory of `size` bytes in a context; a new chunk where the memory fits in no
  /// other.
  Name take(const Context* context, std::uint64_t size, unsigned flags);
  /// Memory of that size is freed; the last memory of a chunk ends the chunk.
  void give(Name name, std::uint64_t size);
  /// The flags of the first memory in the chunk.
  unsigned flags(Name name) const;

 private:
  struct Chunk {
    const Context* context = nullptr;
    unsigned flags = 0;
    std::uint64_t used = 0;
  };
  std::map<Name, Chunk> chunks_;
  Name next_ = 1;
};

}  // namespace cuvmm::emulator
