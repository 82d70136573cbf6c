// Which calls of a program depend on where a driver puts things.
#pragma once

#include <vector>

#include "fuzz/op.h"

namespace cuvmm::fuzz {

/// Follows a program by its names alone. A call leaves them when it reaches past the reservation
/// that its name stands for, or uses the name of what is freed: then the answer depends on what
/// else lies there, which is the driver's own affair (address-space layout, reuse of handle
/// values).
class Layout {
 public:
  /// What an op's answer depends on; null for nothing but the program.
  const char* leaves(const Op& op) const;
  /// The op succeeded: its names stand for something else now.
  void succeeded(const Op& op);
  /// The op failed or was not run: what it would have made does not exist.
  void failed(const Op& op);

 private:
  enum : int { kUnbound = 0, kFailed = -1, kTaken = -2 };  // else an index + 1
  struct Range {
    std::uint64_t size;
    bool live;
  };
  struct Mapping {
    int range, memory;
    std::uint64_t at, size;
    bool live;
  };
  struct Memory {
    int references, mappings;
    bool alive() const { return references > 0 || mappings > 0; }
  };

  const char* leaves_range(std::uint8_t name, std::uint64_t at, std::uint64_t size) const;
  const char* leaves_memory(std::uint8_t name) const;
  int& name(NameKind kind, std::uint8_t number) {
    return names_[static_cast<std::size_t>(kind)][number];
  }
  int bound(NameKind kind, std::uint8_t number) const {
    return number ? names_[static_cast<std::size_t>(kind)][number] : int{kUnbound};
  }

  int names_[kNameKinds][256] = {};
  std::vector<Range> ranges_;
  std::vector<Mapping> mappings_;
  std::vector<Memory> memories_;
};

}  // namespace cuvmm::fuzz
