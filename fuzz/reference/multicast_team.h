// SPDX-License-Identifier: Apache-2.0
// What the reference knows of multicast objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct MulticastTeam {
  struct Binding {
    int device;
    std::uint64_t offset, size;
    int handle;  ///< the reference's index of the bound memory's handle; it ends with that
    std::uint64_t memory_offset;
    bool live;
  };
  unsigned devices;
  std::uint64_t size;
  unsigned types;
  std::vector<int> added;
  std::vector<Binding> bindings;
  bool shared = false;  ///< under two handles: who may unbind what is not written anywhere

  bool member(int device) const {
    return std::find(added.begin(), added.end(), device) != added.end();
  }
  bool complete() const { return added.size() >= devices; }
};

}  // namespace cuvmm::fuzz
