// SPDX-License-Identifier: Apache-2.0
// The two kinds of codes of Zstandard: finite state entropy, and Huffman's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/packed/bits.h"

namespace cuvmm::kernels::packed {

class StateTable {
 public:
  /// From the probabilities of the symbols; -1 is less than one.
  static StateTable of(std::span<const std::int16_t> shares, unsigned accuracy);
  static StateTable of_one(unsigned char symbol);
  /// Takes its description off the front of `bytes`.
  static std::optional<StateTable> read(std::string_view& bytes, unsigned most_accuracy,
                                        unsigned most_symbols);

  unsigned start(BackwardBits& bits) const { return bits.read(accuracy_); }
  unsigned char symbol(unsigned state) const { return entries_[state].symbol; }
  unsigned next(unsigned state, BackwardBits& bits) const {
    return entries_[state].base + bits.read(entries_[state].bits);
  }

 private:
  struct Entry {
    unsigned char symbol = 0;
    unsigned char bits = 0;
    std::uint16_t base = 0;
  };
  unsigned accuracy_ = 0;
  std::vector<Entry> entries_;
};

class HuffmanTable {
 public:
  /// Takes its description off the front of `bytes`.
  static std::optional<HuffmanTable> read(std::string_view& bytes);
  /// Appends `count` symbols. False if the stream does not end with them.
  bool decode(std::string_view stream, std::size_t count, std::string& out) const;

 private:
  struct Entry {
    unsigned char symbol = 0;
    unsigned char bits = 0;
  };
  static std::optional<HuffmanTable> of(std::vector<unsigned char> weights);
  unsigned depth_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace cuvmm::kernels::packed
