// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/packed/unpack.h"

namespace cuvmm::kernels {

namespace {

class Lz4 {
 public:
  Lz4(std::string_view packed, std::size_t size) : in_(packed), size_(size) {}

  std::optional<std::string> unpack() {
    while (at_ < in_.size()) {
      const unsigned token = next();
      std::size_t literals = token >> kHalf;
      if (!lengthen(literals) || !copy_literals(literals)) return {};
      if (at_ == in_.size()) break;  // the last piece has nothing but literals
      if (in_.size() - at_ < 2) return {};
      const std::size_t back = next() | next() << 8;
      std::size_t match = token & kMost;
      if (!lengthen(match) || !copy_match(back, match + kShortestMatch)) return {};
    }
    if (out_.size() != size_) return {};
    return std::move(out_);
  }

 private:
  static constexpr unsigned kHalf = 4, kMost = 15, kMore = 255;
  static constexpr std::size_t kShortestMatch = 4;

  unsigned next() { return static_cast<unsigned char>(in_[at_++]); }

  bool lengthen(std::size_t& length) {
    if (length != kMost) return true;
    for (unsigned more = kMore; more == kMore;) {
      if (at_ == in_.size()) return false;
      length += more = next();
    }
    return true;
  }
  bool copy_literals(std::size_t count) {
    if (count > in_.size() - at_ || count > size_ - out_.size()) return false;
    out_.append(in_.substr(at_, count));
    at_ += count;
    return true;
  }
  bool copy_match(std::size_t back, std::size_t count) {
    if (back == 0 || back > out_.size() || count > size_ - out_.size()) return false;
    for (; count != 0; --count) out_.push_back(out_[out_.size() - back]);
    return true;
  }

  const std::string_view in_;
  const std::size_t size_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> unpack_lz4(std::string_view packed, std::size_t size) {
  return Lz4(packed, size).unpack();
}

}  // namespace cuvmm::kernels
