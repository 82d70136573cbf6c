// SPDX-License-Identifier: Apache-2.0
// The address ranges that the driver reserved, and the part of each that the program knows of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace cuvmm::shim {

/// One reservation of the driver's.
struct Span {
  std::uint64_t base = 0;  ///< what the program was given
  std::uint64_t size = 0;
  std::uint64_t margin = 0;  ///< of the guard on each side; 0: it has none
  bool quarantined = false;  ///< the program freed it, the driver still has it

  std::uint64_t outer_base() const { return base - margin; }
  std::uint64_t outer_size() const { return size + 2 * margin; }
};

/// Not thread-safe, asks no driver. Sizes and addresses in bytes.
class Spans {
 public:
  /// `most`: how many freed ranges are kept.
  explicit Spans(std::size_t most) : most_(most) {}

  void add(const Span& span) { spans_.insert_or_assign(span.outer_base(), span); }
  /// The one whose driver's range holds `address`, or null.
  const Span* at(std::uint64_t address) const;
  /// The one that the program knows by this address and has not freed, or null.
  const Span* live(std::uint64_t base) const;
  void remove(const Span& span) { spans_.erase(span.outer_base()); }

  /// The program freed it: it is kept. What is kept too long by now, for the driver to free, is no
  /// longer known here.
  std::vector<Span> keep(const Span& span);
  /// All that is kept, for the driver to free.
  std::vector<Span> give_back();
  std::size_t kept() const { return kept_.size(); }

  /// Whether a byte of the range is one that the program must not use: a guard's, or a freed one.
  bool forbidden(std::uint64_t address, std::uint64_t size) const;

  const std::map<std::uint64_t, Span>& all() const { return spans_; }

 private:
  const std::size_t most_;
  std::map<std::uint64_t, Span> spans_;  ///< by the first address of the driver's range
  std::deque<std::uint64_t> kept_;       ///< keys of spans_, the oldest first
};

/// What the driver is asked for, so that `margin` is free on both sides of the program's range.
struct Wanted {
  std::uint64_t size = 0;
  std::uint64_t hint = 0;
};
/// Nothing where there is no room for the margin.
std::optional<Wanted> with_margins(std::uint64_t size, std::uint64_t hint, std::uint64_t margin);

}  // namespace cuvmm::shim
