// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/spans.h"

namespace cuvmm::shim {

const Span* Spans::at(std::uint64_t address) const {
  auto after = spans_.upper_bound(address);
  if (after == spans_.begin()) return nullptr;
  const auto& [outer, span] = *--after;
  return address - outer < span.outer_size() ? &span : nullptr;
}

const Span* Spans::live(std::uint64_t base) const {
  const Span* const span = at(base);
  return span && span->base == base && !span->quarantined ? span : nullptr;
}

std::vector<Span> Spans::keep(const Span& span) {
  spans_.at(span.outer_base()).quarantined = true;
  freed_.push_back(span.outer_base());
  std::vector<Span> out;
  while (freed_.size() > most_) {
    const auto oldest = spans_.find(freed_.front());
    freed_.pop_front();
    out.push_back(oldest->second);
    spans_.erase(oldest);
  }
  return out;
}

std::vector<Span> Spans::give_back() {
  std::vector<Span> out;
  for (const std::uint64_t key : freed_) {
    const auto freed = spans_.find(key);
    out.push_back(freed->second);
    spans_.erase(freed);
  }
  freed_.clear();
  return out;
}

bool Spans::forbidden(std::uint64_t address, std::uint64_t size) const {
  auto next = spans_.upper_bound(address);
  if (next != spans_.begin()) --next;
  for (; next != spans_.end(); ++next) {
    const auto& [outer, span] = *next;
    if (outer >= address && outer - address >= size) return false;
    if (outer < address && address - outer >= span.outer_size()) continue;
    if (span.quarantined) return true;
    const bool inside = address >= span.base && address - span.base < span.size &&
                        size <= span.size - (address - span.base);
    if (span.margin != 0 && !inside) return true;
  }
  return false;
}

std::optional<Wanted> with_margins(std::uint64_t size, std::uint64_t hint, std::uint64_t margin) {
  if (size == 0 || margin > (~std::uint64_t{0} >> 2) || size > ~std::uint64_t{0} - 2 * margin) {
    return std::nullopt;
  }
  if (hint != 0 && hint <= margin) return std::nullopt;
  return Wanted{size + 2 * margin, hint == 0 ? 0 : hint - margin};
}

}  // namespace cuvmm::shim
