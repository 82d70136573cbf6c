// SPDX-License-Identifier: Apache-2.0
// A list that nearly always has at most one element. That element lies inline, without an
// allocation.
#pragma once

#include <cstddef>
#include <optional>

#include "rulebook/containers/rare_list.h"

namespace cuvmm {

/// Contiguous, append-only. T is copyable.
template <class T>
class ShortList {
 public:
  // Not defaulted, because ShortList{} would then clear the space of the element as well, on every
  // call.
  ShortList() noexcept {}  // NOLINT(modernize-use-equals-default)

  void push_back(const T& value) {
    if (empty()) {
      one_ = value;
      return;
    }
    if (many_.empty()) many_.push_back(*one_);
    many_.push_back(value);
  }

  std::size_t size() const { return many_.empty() ? std::size_t{one_.has_value()} : many_.size(); }
  bool empty() const { return !one_.has_value(); }
  T* begin() { return many_.empty() ? first() : many_.begin(); }
  T* end() { return begin() + size(); }
  const T* begin() const { return const_cast<ShortList*>(this)->begin(); }
  const T* end() const { return begin() + size(); }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  /// The element if the list has exactly one; else null.
  const T* only() const { return one_ && many_.empty() ? &*one_ : nullptr; }

 private:
  T* first() { return one_ ? &*one_ : nullptr; }

  std::optional<T> one_;
  RareList<T> many_;  ///< all elements, once there are two
};

}  // namespace cuvmm
