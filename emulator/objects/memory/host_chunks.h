// SPDX-License-Identifier: Apache-2.0
// The chunks of 2 MiB that a driver cuts small page-locked memory from. Where in them it lies has
// no like here; which flags it was given can be asked, and a chunk's are those of the first memory
// in it, whatever the others asked for (measured).
#pragma once

#include <cstdint>
#include <map>

namespace cuvmm::emulator {

struct Context;

class HostChunks {
 public:
  using Name = std::uint64_t;
  static constexpr std::uint64_t kChunk = 2 << 20;
  static constexpr std::uint64_t kUnit = 512;  ///< what sizes are rounded up to

  /// The chunk of a context's new memory of `size` bytes; one of its own where it fits in no other.
  Name take(const Context* context, std::uint64_t size, unsigned flags);
  /// Memory of that size is freed; the last takes the chunk along.
  void give(Name name, std::uint64_t size);
  /// As the first memory in it asked.
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
