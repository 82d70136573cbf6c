// SPDX-License-Identifier: Apache-2.0
// A queue in one piece of memory, which grows and then is used round and round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cuvmm {

/// T has a default value, which takes the place of what was taken out.
template <class T>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// From the front, below size().
  const T& operator[](std::size_t i) const { return places_[at(i)]; }
  const T& front() const { return places_[first_]; }

  void push_back(T element) {
    if (count_ == places_.size()) grow();
    places_[at(count_)] = std::move(element);
    ++count_;
  }
  /// All of them, in their order.
  void append(std::span<const T> elements) requires std::is_trivially_copyable_v<T> {
    while (count_ + elements.size() > places_.size()) grow();
    const std::size_t from = at(count_);
    const std::size_t straight = std::min(elements.size(), places_.size() - from);
    std::copy_n(elements.begin(), straight, places_.begin() + static_cast<std::ptrdiff_t>(from));
    std::copy(elements.begin() + static_cast<std::ptrdiff_t>(straight), elements.end(),
              places_.begin());
    count_ += elements.size();
  }
  void pop_front() {
    places_[first_] = T{};
    first_ = at(1);
    --count_;
  }

 private:
  static constexpr std::size_t kFirst = 16;  // a power of two, as all that follow

  std::size_t at(std::size_t i) const { return (first_ + i) & (places_.size() - 1); }
  void grow() {
    std::vector<T> wider(places_.empty() ? kFirst : 2 * places_.size());
    for (std::size_t i = 0; i < count_; ++i) wider[i] = std::move(places_[at(i)]);
    places_ = std::move(wider);
    first_ = 0;
  }

  std::vector<T> places_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace cuvmm
