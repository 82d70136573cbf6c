// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/packed/entropy.h"

#include <bit>

namespace cuvmm::kernels::packed {

namespace {

unsigned highest_bit(std::uint32_t value) {
  return static_cast<unsigned>(std::bit_width(value)) - 1;
}

}  // namespace

StateTable StateTable::of_one(unsigned char symbol) {
  StateTable table;
  table.entries_.push_back({symbol, 0, 0});
  return table;
}

StateTable StateTable::of(std::span<const std::int16_t> shares, unsigned accuracy) {
  StateTable table;
  table.accuracy_ = accuracy;
  const std::uint32_t size = std::uint32_t{1} << accuracy;
  table.entries_.resize(size);
  std::vector<std::uint32_t> next(shares.size());
  std::uint32_t high = size;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    next[s] = shares[s] < 0 ? 1 : static_cast<std::uint32_t>(shares[s]);
    if (shares[s] < 0) table.entries_[--high].symbol = static_cast<unsigned char>(s);
  }
  const std::uint32_t step = (size >> 1) + (size >> 3) + 3;
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    for (std::int16_t i = 0; i < shares[s]; ++i) {
      table.entries_[at].symbol = static_cast<unsigned char>(s);
      do at = (at + step) & (size - 1);
      while (at >= high);
    }
  }
  for (Entry& entry : table.entries_) {
    const std::uint32_t place = next[entry.symbol]++;
    const unsigned bits = accuracy - highest_bit(place);
    entry.bits = static_cast<unsigned char>(bits);
    entry.base = static_cast<std::uint16_t>((place << bits) - size);
  }
  return table;
}

std::optional<StateTable> StateTable::read(std::string_view& bytes, unsigned most_accuracy,
                                           unsigned most_symbols) {
  ForwardBits bits(bytes);
  constexpr unsigned kLeastAccuracy = 5;
  const unsigned accuracy = kLeastAccuracy + bits.read(4);
  if (accuracy > most_accuracy) return {};
  std::vector<std::int16_t> shares;
  for (std::int32_t left = 1 << accuracy; left > 0;) {
    if (shares.size() >= most_symbols || bits.bytes() > bytes.size()) return {};
    // The highest values are so few that they need one bit less.
    const auto most = static_cast<std::uint32_t>(left) + 1;
    const unsigned width = highest_bit(most) + 1;
    const std::uint32_t lower = (std::uint32_t{1} << (width - 1)) - 1;
    const std::uint32_t threshold = (std::uint32_t{1} << width) - 1 - most;
    std::uint32_t value = bits.read(width);
    if ((value & lower) < threshold) {
      bits.go_back(1);
      value &= lower;
    } else if (value > lower) {
      value -= threshold;
    }
    const std::int32_t share = static_cast<std::int32_t>(value) - 1;
    left -= share < 0 ? 1 : share;
    shares.push_back(static_cast<std::int16_t>(share));
    if (share != 0) continue;
    constexpr std::uint32_t kMore = 3;
    for (std::uint32_t zeros = kMore; zeros == kMore;) {
      zeros = bits.read(2);
      shares.insert(shares.end(), zeros, 0);
      if (shares.size() > most_symbols || bits.bytes() > bytes.size()) return {};
    }
  }
  if (bits.bytes() > bytes.size()) return {};
  bytes.remove_prefix(bits.bytes());
  return of(shares, accuracy);
}

std::optional<HuffmanTable> HuffmanTable::read(std::string_view& bytes) {
  constexpr unsigned kDirect = 128, kMostWeights = 255;
  if (bytes.empty()) return {};
  const unsigned header = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  std::vector<unsigned char> weights;
  if (header >= kDirect) {
    const std::size_t count = header - kDirect + 1;
    if (bytes.size() < (count + 1) / 2) return {};
    for (std::size_t i = 0; i < count; ++i) {
      const auto pair = static_cast<unsigned char>(bytes[i / 2]);
      weights.push_back(i % 2 == 0 ? pair >> 4 : pair & 15);
    }
    bytes.remove_prefix((count + 1) / 2);
    return of(std::move(weights));
  }
  if (bytes.size() < header) return {};
  std::string_view own = bytes.substr(0, header);
  bytes.remove_prefix(header);
  constexpr unsigned kMostAccuracy = 6, kMostSymbols = 256;
  const auto table = StateTable::read(own, kMostAccuracy, kMostSymbols);
  if (!table) return {};
  BackwardBits bits(own);
  unsigned states[] = {0, 0};
  for (unsigned& state : states) state = table->start(bits);
  if (!bits.ok()) return {};
  // Two states take turns, until one of them would need bits that are not there.
  for (unsigned turn = 0; weights.size() < kMostWeights; turn ^= 1) {
    weights.push_back(table->symbol(states[turn]));
    states[turn] = table->next(states[turn], bits);
    if (bits.ok()) continue;
    weights.push_back(table->symbol(states[turn ^ 1]));
    return of(std::move(weights));
  }
  return {};
}

std::optional<HuffmanTable> HuffmanTable::of(std::vector<unsigned char> weights) {
  constexpr unsigned kDeepest = 11, kMostSymbols = 256;
  std::uint32_t sum = 0;
  for (const unsigned char weight : weights) {
    if (weight > kDeepest) return {};
    if (weight != 0) sum += std::uint32_t{1} << (weight - 1);
  }
  if (sum == 0 || weights.size() >= kMostSymbols) return {};
  HuffmanTable table;
  table.depth_ = highest_bit(sum) + 1;
  // The last one is not written: it is what makes the sum a power of two.
  const std::uint32_t size = std::uint32_t{1} << table.depth_, rest = size - sum;
  if (table.depth_ > kDeepest || !std::has_single_bit(rest)) return {};
  weights.push_back(static_cast<unsigned char>(highest_bit(rest) + 1));
  for (unsigned weight = 1; weight <= table.depth_; ++weight) {
    for (std::size_t s = 0; s < weights.size(); ++s) {
      if (weights[s] != weight) continue;
      const Entry entry{static_cast<unsigned char>(s),
                        static_cast<unsigned char>(table.depth_ + 1 - weight)};
      table.entries_.insert(table.entries_.end(), std::size_t{1} << (weight - 1), entry);
    }
  }
  if (table.entries_.size() != size) return {};
  return table;
}

bool HuffmanTable::decode(std::string_view stream, std::size_t count, std::string& out) const {
  BackwardBits bits(stream);
  for (; count != 0; --count) {
    if (!bits.ok()) return false;
    const Entry& entry = entries_[bits.peek(depth_)];
    out.push_back(static_cast<char>(entry.symbol));
    bits.skip(entry.bits);
  }
  return bits.at_end();
}

}  // namespace cuvmm::kernels::packed
