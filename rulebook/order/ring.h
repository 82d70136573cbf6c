// SPDX-License-Identifier: Apache-2.0
// A queue in one block of memory, which grows, and whose places are used again in a circle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cuvmm {

/// An element that was removed stays in its place until a new element overwrites it.
template <class T>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// Counts from the front; `i` is below size().
  const T& operator[](std::size_t i) const { return places_[at(i)]; }
  const T& front() const { return places_[first_]; }
  T& front() { return places_[first_]; }

  /// Adds a place at the back. It holds an old or a default value, so the caller writes all of it.
  T& push_back() {
    if (count_ == places_.size()) [[unlikely]]
      grow();
    return places_[at(count_++)];
  }
  /// Adds all elements in their order.
  [[gnu::hot]] void append(std::span<const T> elements) requires std::is_trivially_copyable_v<T> {
    while (count_ + elements.size() > places_.size()) [[unlikely]] grow();
    const std::size_t to = at(count_);
    const std::size_t before_end = std::min(elements.size(), places_.size() - to);
    std::copy_n(elements.data(), before_end, places_.data() + to);
    if (before_end != elements.size()) [[unlikely]]
      std::copy(elements.begin() + before_end, elements.end(), places_.data());
    count_ += elements.size();
  }
  void pop_front(std::size_t count = 1) {
    first_ = at(count);
    count_ -= count;
  }

 private:
  static constexpr std::size_t kFirst = 16;  // a power of two, as every later capacity is

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
