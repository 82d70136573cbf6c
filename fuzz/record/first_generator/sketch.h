// SPDX-License-Identifier: Apache-2.0
// The objects that a program has made so far, under the assumption that every legal call succeeds.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz::first {

struct Sketch {
  /// Sizes and places in granules.
  struct Mapping {
    unsigned at, size;
    std::uint8_t memory;
    std::uint8_t access[9] = {};  ///< by device, then the host
  };
  struct Range {
    std::uint8_t name;
    unsigned size;
    std::vector<Mapping> mappings;
    bool vacant(unsigned at, unsigned count) const;
  };
  struct Memory {
    std::uint8_t name;
    unsigned size;
    int references;
    bool exportable;
    bool on_host;
    bool imported = false;
  };
  struct Descriptor {
    std::uint8_t name;
    unsigned size;  ///< of the memory behind it
    bool on_host;
    int process;  ///< the process that made it
  };
  struct Dead {
    NameKind kind;
    std::uint8_t name;
  };
  struct Piece {
    std::uint8_t range;
    const Mapping* mapping;
    bool on_host;
  };

  // Objects of the process that makes the next call.
  std::vector<Range> ranges;
  std::vector<Memory> memories;
  // Objects of the other process; this process cannot use them.
  std::vector<Range> foreign_ranges;
  std::vector<Memory> foreign_memories;
  int process = 0;
  // Objects of both processes.
  std::vector<Descriptor> descriptors;
  std::vector<Dead> dead;
  int device[kActors] = {0, -1, -1, 0};
  bool used[4][256] = {};

  /// Makes `which` the process of the next calls.
  void turn_to(int which);
  /// All mappings with the names of their ranges; valid until the next follow().
  std::vector<Piece> pieces() const;
  const Memory* memory(std::uint8_t name) const;
  /// A name that no object has had; any name when all are taken.
  std::uint8_t free_name(NameKind kind, std::uint32_t otherwise) const;
  void follow(const Op& op);

 private:
  void follow_mapping(const Op& op, Range& range);
  void follow_descriptor(const Op& op);
  void follow_retain(const Op& op, const Range& range);
};

}  // namespace cuvmm::fuzz::first
