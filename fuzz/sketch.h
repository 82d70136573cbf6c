// What a program has made so far if every legal call of it succeeds: the generator's rough idea.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/op.h"

namespace cuvmm::fuzz {

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
  };
  struct Descriptor {
    std::uint8_t name;
    std::uint8_t memory;
  };
  struct External {
    std::uint8_t name;
    unsigned size;
    bool beyond;  ///< imported with more than there is
  };
  /// Memory with an address and no reservation.
  struct Plain {
    std::uint8_t name;  ///< among those of ranges
    unsigned size;
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

  std::vector<Range> ranges;
  std::vector<Memory> memories;
  std::vector<Descriptor> descriptors;
  std::vector<External> externals;
  std::vector<Plain> plains;
  std::vector<Dead> dead;
  int device[kThreads] = {0, -1, -1};
  bool used[kNameKinds][256] = {};

  /// All mappings with the names of their ranges; valid until the next follow().
  std::vector<Piece> pieces() const;
  const Memory* memory(std::uint8_t name) const;
  /// A name that nothing has had; any when all are taken.
  std::uint8_t free_name(NameKind kind, std::uint32_t otherwise) const;
  /// Names that later ops bind are taken too.
  void avoid(const Ops& ops);
  void follow(const Op& op);

 private:
  /// The same for the calls of other areas; false for a call of VMM.
  bool follow_area(const Op& op);
  void add_plain(std::uint8_t name, unsigned size);
};

}  // namespace cuvmm::fuzz
