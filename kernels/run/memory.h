// SPDX-License-Identifier: Apache-2.0
// Global memory as a kernel accesses it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/texture/image.h"

namespace cuvmm::kernels {

/// Finds the bytes behind addresses, and caches where they lie. No memory may be mapped or unmapped
/// while the object lives.
class Memory {
 public:
  /// The addresses [begin, end), which lie within one chunk, and their bytes.
  struct Window {
    std::uint64_t begin = 1, end = 0;
    char* bytes = nullptr;
    bool read = false, write = false;
    /// A bit for each byte that was ever written: bit `written_at` stands for `begin`. Null: every
    /// byte counts as written.
    std::uint64_t* written = nullptr;
    std::uint64_t written_at = 0;

    bool holds(std::uint64_t address, unsigned size, bool writes) const {
      return address >= begin && address < end && size <= end - address && (writes ? write : read);
    }
  };
  static constexpr unsigned kChunkBits = 16;

  virtual ~Memory() = default;

  /// The bytes of an access, for which the address is aligned; null where the access is not
  /// allowed.
  char* at(std::uint64_t address, unsigned size, bool writes) {
    const Window* const window = around(address, size, writes);
    return window ? window->bytes + (address - window->begin) : nullptr;
  }
  /// The window of an access; null where the access is not allowed.
  const Window* around(std::uint64_t address, unsigned size, bool writes) {
    Window& known = known_[(address >> kChunkBits) % known_.size()];
    if (!known.holds(address, size, writes)) [[unlikely]] {
      const Window found = find(address);
      if (!found.holds(address, size, writes)) return nullptr;
      known = found;
    }
    return &known;
  }
  /// The reason why an access is not allowed, such as "nothing is mapped there".
  virtual std::string why_not(std::uint64_t address, unsigned size, bool writes) = 0;

  /// The object that a handle names. It lives as long as this Memory.
  virtual Named<Texture> texture(std::uint64_t) { return {nullptr, "no texture has this handle"}; }
  virtual Named<Image> surface(std::uint64_t) { return {nullptr, "no surface has this handle"}; }

 private:
  /// The window that holds an address; an empty one where no window does.
  virtual Window find(std::uint64_t address) = 0;

  std::array<Window, 256> known_{};
};

}  // namespace cuvmm::kernels
