// SPDX-License-Identifier: Apache-2.0
// Which bytes of an allocation were touched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "api/sizes.h"

namespace cuvmm::emulator {

/// Spans of whole pages, in order, that contain every byte that was touched. The class holds few
/// spans: once there are too many, they become one span, from the first byte to the last.
class Touched {
 public:
  struct Span {
    std::uint64_t begin, end;
    friend bool operator==(const Span&, const Span&) = default;
  };
  static constexpr std::size_t kMost = 64;

  void add(std::uint64_t begin, std::uint64_t end) {
    begin = begin / kPage * kPage;
    end = (end + kPage - 1) / kPage * kPage;
    const auto first = std::ranges::lower_bound(spans_, begin, {}, &Span::end);
    if (first == spans_.end() || end < first->begin) {
      spans_.insert(first, {begin, end});
    } else {
      const auto last =
          std::find_if(first, spans_.end(), [&](const Span& s) { return s.begin > end; });
      *first = {std::min(begin, first->begin), std::max(end, std::prev(last)->end)};
      spans_.erase(std::next(first), last);
    }
    if (spans_.size() > kMost) spans_ = {{spans_.front().begin, spans_.back().end}};
  }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::vector<Span> spans_;
};

}  // namespace cuvmm::emulator
