// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/image/packed/entropy.h"
#include "kernels/image/packed/unpack.h"

namespace cuvmm::kernels {

namespace {

using packed::BackwardBits;
using packed::HuffmanTable;
using packed::StateTable;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  }
  return value;
}

/// Lengths beyond a code's own number: it stands for `base` and some more bits.
struct Length {
  std::uint32_t base;
  unsigned char bits;
};
constexpr std::size_t kLiteralCodes = 36, kMatchCodes = 53, kOffsetCodes = 32;
constexpr std::size_t kPlainLiterals = 16, kPlainMatches = 32;
constexpr Length kLongLiterals[] = {{16, 1},    {18, 1},    {20, 1},     {22, 1},     {24, 2},
                                    {28, 2},    {32, 3},    {40, 3},     {48, 4},     {64, 6},
                                    {128, 7},   {256, 8},   {512, 9},    {1024, 10},  {2048, 11},
                                    {4096, 12}, {8192, 13}, {16384, 14}, {32768, 15}, {65536, 16}};
constexpr Length kLongMatches[] = {
    {35, 1},    {37, 1},    {39, 1},    {41, 1},    {43, 2},     {47, 2},     {51, 3},
    {59, 3},    {67, 4},    {83, 4},    {99, 5},    {131, 7},    {259, 8},    {515, 9},
    {1027, 10}, {2051, 11}, {4099, 12}, {8195, 13}, {16387, 14}, {32771, 15}, {65539, 16}};
constexpr std::uint32_t kShortestMatch = 3;

/// What a frame has of a kind of code: how far its tables may go, and the one to begin with.
struct Kind {
  unsigned most_accuracy;
  std::size_t symbols;
  unsigned accuracy;
  std::array<std::int16_t, kMatchCodes> shares;
};
constexpr Kind kLiterals{
    9, kLiteralCodes, 6, {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                          2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}};
constexpr Kind kOffsets{8, 29, 5, {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                   1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}};
constexpr Kind kMatches{
    9, kMatchCodes, 6, {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}};

class Frame {
 public:
  Frame(std::string_view packed, std::size_t size) : in_(packed), size_(size) {}

  std::optional<std::string> unpack() {
    if (!begin()) return {};
    for (bool last = false; !last;) {
      const auto header = take(3);
      if (!header) return {};
      const auto word = static_cast<std::uint32_t>(little_endian(*header));
      last = (word & 1) != 0;
      if (!block(word >> 1 & 3, word >> 3)) return {};
    }
    if (out_.size() != size_) return {};
    return std::move(out_);
  }

 private:
  std::optional<std::string_view> take(std::size_t count) { return take(in_, count); }
  static std::optional<std::string_view> take(std::string_view& from, std::size_t count) {
    if (count > from.size()) return {};
    const std::string_view taken = from.substr(0, count);
    from.remove_prefix(count);
    return taken;
  }

  // The header; how large the window is, or the contents are, the caller knows.
  bool begin() {
    constexpr std::uint32_t kMagic = 0xfd2fb528;
    const auto magic = take(4), descriptor = take(1);
    if (!magic || !descriptor || little_endian(*magic) != kMagic) return false;
    const auto flags = static_cast<unsigned>(little_endian(*descriptor));
    const bool single = (flags >> 5 & 1) != 0;
    constexpr std::size_t kDictionary[] = {0, 1, 2, 4}, kContents[] = {0, 2, 4, 8};
    const unsigned contents = flags >> 6;
    const std::size_t rest = (single ? 0 : 1) + kDictionary[flags & 3] +
                             (contents == 0 && single ? 1 : kContents[contents]);
    return take(rest).has_value();
  }

  bool block(unsigned type, std::size_t size) {
    constexpr unsigned kRaw = 0, kOneByte = 1, kCompressed = 2;
    if (type == kOneByte) {
      const auto byte = take(1);
      return byte && fill(byte->front(), size, out_);
    }
    const auto body = take(size);
    if (!body) return false;
    if (type == kRaw) return append(*body, out_);
    return type == kCompressed && compressed(*body);
  }
  bool append(std::string_view bytes, std::string& to) const {
    if (bytes.size() > size_ - std::min(size_, to.size())) return false;
    to.append(bytes);
    return true;
  }
  bool fill(char byte, std::size_t count, std::string& to) const {
    if (count > size_ - std::min(size_, to.size())) return false;
    to.append(count, byte);
    return true;
  }

  bool compressed(std::string_view body) {
    literals_.clear();
    literals_done_ = 0;
    return read_literals(body) && read_sequences(body);
  }

  bool read_literals(std::string_view& body) {
    if (body.empty()) return false;
    const auto first = static_cast<unsigned char>(body.front());
    const unsigned type = first & 3, format = first >> 2 & 3;
    constexpr unsigned kRaw = 0, kOneByte = 1, kAsBefore = 3;
    if (type <= kOneByte) {
      const std::size_t bytes = format % 2 == 0 ? 1 : format == 1 ? 2 : 3;
      const auto header = take(body, bytes);
      if (!header) return false;
      const std::size_t count = little_endian(*header) >> (bytes == 1 ? 3 : 4);
      const auto given = take(body, type == kRaw ? count : 1);
      if (!given) return false;
      return type == kRaw ? append(*given, literals_) : fill(given->front(), count, literals_);
    }
    const std::size_t bytes = format < 2 ? 3 : format + 2;
    const unsigned width = format < 2 ? 10 : format == 2 ? 14 : 18;
    const auto header = take(body, bytes);
    if (!header) return false;
    const std::uint64_t word = little_endian(*header) >> 4;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    const std::size_t count = word & mask, size = word >> width & mask;
    auto streams = take(body, size);
    if (!streams || count > size_) return false;
    if (type != kAsBefore) huffman_ = HuffmanTable::read(*streams);
    if (!huffman_) return false;
    if (format == 0) return huffman_->decode(*streams, count, literals_);
    return decode_four(*streams, count);
  }

  bool decode_four(std::string_view streams, std::size_t count) {
    constexpr std::size_t kSizes = 6, kStreams = 4;
    const auto sizes = take(streams, kSizes);
    const std::size_t each = (count + kStreams - 1) / kStreams;
    if (!sizes || count < 3 * each) return false;
    for (std::size_t i = 0; i + 1 < kStreams; ++i) {
      const auto stream = take(streams, little_endian(sizes->substr(2 * i, 2)));
      if (!stream || !huffman_->decode(*stream, each, literals_)) return false;
    }
    return huffman_->decode(streams, count - 3 * each, literals_);
  }

  bool read_sequences(std::string_view body) {
    const auto first = take(body, 1);
    if (!first) return false;
    std::size_t count = static_cast<unsigned char>(first->front());
    constexpr std::size_t kTwo = 128, kThree = 255, kLongest = 0x7f00;
    if (count >= kTwo) {
      const auto more = take(body, count == kThree ? 2 : 1);
      if (!more) return false;
      count = count == kThree ? little_endian(*more) + kLongest
                              : ((count - kTwo) << 8) + little_endian(*more);
    }
    if (count != 0) {
      const auto modes = take(body, 1);
      if (!modes) return false;
      const auto mode = static_cast<unsigned char>(modes->front());
      if (!read_table(body, mode >> 6, kLiterals, kLiteralCodes, literal_table_) ||
          !read_table(body, mode >> 4 & 3, kOffsets, kOffsetCodes, offset_table_) ||
          !read_table(body, mode >> 2 & 3, kMatches, kMatchCodes, match_table_) ||
          !run_sequences(body, count)) {
        return false;
      }
    }
    return append(std::string_view(literals_).substr(literals_done_), out_);
  }

  static bool read_table(std::string_view& body, unsigned mode, const Kind& kind, std::size_t codes,
                         std::optional<StateTable>& table) {
    constexpr unsigned kUsual = 0, kOne = 1, kOwn = 2;
    if (mode == kUsual) {
      table = StateTable::of(std::span(kind.shares).first(kind.symbols), kind.accuracy);
    } else if (mode == kOne) {
      const auto symbol = take(body, 1);
      if (!symbol || static_cast<unsigned char>(symbol->front()) >= codes) return false;
      table = StateTable::of_one(static_cast<unsigned char>(symbol->front()));
    } else if (mode == kOwn) {
      table = StateTable::read(body, kind.most_accuracy, static_cast<unsigned>(codes));
    }
    return table.has_value();
  }

  template <std::size_t N>
  static std::uint32_t length(unsigned code, std::size_t plain, const Length (&more)[N],
                              BackwardBits& bits) {
    if (code < plain) return code;
    if (code - plain >= N) return 0;  // no table has such a code
    const Length& found = more[code - plain];
    return found.base + bits.read(found.bits);
  }

  bool run_sequences(std::string_view stream, std::size_t count) {
    BackwardBits bits(stream);
    literals_done_ = 0;
    unsigned literal = literal_table_->start(bits);
    unsigned offset = offset_table_->start(bits);
    unsigned match = match_table_->start(bits);
    for (; bits.ok() && count != 0; --count) {
      const unsigned width = offset_table_->symbol(offset);
      if (width >= kOffsetCodes) return false;
      const std::uint32_t far = (std::uint32_t{1} << width) + bits.read(width);
      const unsigned match_code = match_table_->symbol(match);
      const std::uint32_t matched = match_code < kPlainMatches
                                        ? match_code + kShortestMatch
                                        : length(match_code, kPlainMatches, kLongMatches, bits);
      const std::uint32_t taken =
          length(literal_table_->symbol(literal), kPlainLiterals, kLongLiterals, bits);
      if (!bits.ok() || !run(taken, far, matched)) return false;
      if (count == 1) break;
      literal = literal_table_->next(literal, bits);
      match = match_table_->next(match, bits);
      offset = offset_table_->next(offset, bits);
    }
    return bits.at_end();
  }

  bool run(std::size_t taken, std::uint32_t far, std::size_t matched) {
    if (taken > literals_.size() - literals_done_) return false;
    if (!append(std::string_view(literals_).substr(literals_done_, taken), out_)) return false;
    literals_done_ += taken;
    const std::size_t back = distance(far, taken == 0);
    if (back == 0 || back > out_.size() || matched > size_ - out_.size()) return false;
    for (; matched != 0; --matched) out_.push_back(out_[out_.size() - back]);
    return true;
  }

  // The first three values mean distances of before.
  std::size_t distance(std::uint32_t far, bool no_literals) {
    std::size_t found = 0;
    unsigned place = 3;
    if (far > 3) {
      found = far - 3;
      place = 2;
    } else {
      place = far - 1 + (no_literals ? 1 : 0);
      found = place == 3 ? before_[0] - 1 : before_[place];
      if (place == 3) place = 2;
    }
    for (; place != 0; --place) before_[place] = before_[place - 1];
    before_[0] = found;
    return found;
  }

  std::string_view in_;
  const std::size_t size_;
  std::string out_, literals_;
  std::size_t literals_done_ = 0;
  std::size_t before_[3] = {1, 4, 8};
  std::optional<HuffmanTable> huffman_;
  std::optional<StateTable> literal_table_, offset_table_, match_table_;
};

}  // namespace

std::optional<std::string> unpack_zstd(std::string_view packed, std::size_t size) {
  return Frame(packed, size).unpack();
}

}  // namespace cuvmm::kernels
