// SPDX-License-Identifier: Apache-2.0
// The reference's state of multicast objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct MulticastTeam {
  struct Binding {
    int device;
    std::uint64_t offset, size;
    int handle;  ///< index of the bound memory's handle; the binding ends with the handle
    std::uint64_t memory_offset;
    bool live;
  };
  unsigned devices;
  std::uint64_t size;
  unsigned types;
  std::vector<int> added;
  std::vector<Binding> bindings;
  bool shared = false;  ///< the object has two handles; no document says which one may unbind

  bool member(int device) const {
    return std::find(added.begin(), added.end(), device) != added.end();
  }
  bool complete() const { return added.size() >= devices; }
};

}  // namespace cuvmm::fuzz
