// SPDX-License-Identifier: Apache-2.0
// The reference's state of external memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm::fuzz {

struct ExternalState {
  struct Object {
    std::uint64_t value;  ///< the CUexternalMemory
    int memory;           ///< the reference's index of the allocation behind it
    std::uint64_t size;   ///< the size of the import
    bool dedicated;       ///< imported with the flag DEDICATED
    bool unseen;          ///< another process exported it
    bool live;
    int device;  ///< device of the context that imported it
  };
  std::vector<Object> objects;
  std::vector<int> taken;     ///< numbers of descriptors that the driver owns
  std::vector<int> received;  ///< such numbers that an export of another process got later

  void clear() { *this = {}; }
  /// The last object with this value; -1 for none.
  int find(std::uint64_t value) const {
    for (std::size_t i = objects.size(); i-- > 0;) {
      if (objects[i].value == value) return static_cast<int>(i);
    }
    return -1;
  }
  bool took(int fd) const { return std::find(taken.begin(), taken.end(), fd) != taken.end(); }
  /// Whether the driver only seems to own the number: no call of this process brought it back.
  bool came_back(int fd) const {
    return std::find(received.begin(), received.end(), fd) != received.end();
  }
  /// A new file has this number; `other`: another process made it.
  void opened(int fd, bool other) {
    const bool looked_taken = std::erase(received, fd) != 0;
    const bool was_taken = std::erase(taken, fd) != 0;
    if ((was_taken || looked_taken) && other) received.push_back(fd);
  }
};

}  // namespace cuvmm::fuzz
