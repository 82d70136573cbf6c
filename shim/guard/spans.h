// SPDX-License-Identifier: Apache-2.0
// The address ranges that the driver reserved, and the part of each that the program knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace cuvmm::shim {

/// A reservation of the driver.
struct Span {
  std::uint64_t base = 0;  ///< the begin of the range that the program got
  std::uint64_t size = 0;
  std::uint64_t margin = 0;  ///< the size of the guard on each side; 0: the range has no guard
  bool quarantined = false;  ///< the program freed the range, and the driver still has it

  std::uint64_t outer_base() const { return base - margin; }
  std::uint64_t outer_size() const { return size + 2 * margin; }
};

/// Not thread-safe; calls no driver. Sizes and addresses in bytes.
class Spans {
 public:
  /// `most`: the number of freed ranges that stay reserved.
  explicit Spans(std::size_t most) : most_(most) {}

  void add(const Span& span) { spans_.insert_or_assign(span.outer_base(), span); }
  /// The reservation whose range in the driver contains `address`, or null.
  const Span* at(std::uint64_t address) const;
  /// The reservation that the program knows by this address and has not freed, or null.
  const Span* live(std::uint64_t base) const;
  void remove(const Span& span) { spans_.erase(span.outer_base()); }

  /// The program freed the range: stores the reservation as a freed one. Returns, and forgets, the
  /// ranges that are now too many, which the caller frees in the driver.
  std::vector<Span> keep(const Span& span);
  /// Returns, and forgets, all freed ranges, which the caller frees in the driver.
  std::vector<Span> give_back();
  std::size_t freed() const { return freed_.size(); }

  /// Whether the program must not use a byte of the range: a guard's, or a freed one.
  bool forbidden(std::uint64_t address, std::uint64_t size) const;

  const std::map<std::uint64_t, Span>& all() const { return spans_; }

 private:
  const std::size_t most_;
  std::map<std::uint64_t, Span> spans_;  ///< by the first address of the driver's range
  std::deque<std::uint64_t> freed_;      ///< keys of spans_, the oldest first
};

/// The size and the hint for the driver that leave `margin` free on both sides of the program's
/// range.
struct Wanted {
  std::uint64_t size = 0;
  std::uint64_t hint = 0;
};
/// nullopt if there is no space for the margin.
std::optional<Wanted> with_margins(std::uint64_t size, std::uint64_t hint, std::uint64_t margin);

}  // namespace cuvmm::shim
