// SPDX-License-Identifier: Apache-2.0
// A map from streams to elements, fast for the few streams that every launch asks for.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "rulebook/order/clock.h"

namespace cuvmm {

/// Keys are StreamIds from 1 on. An element stays at its address until it is erased. The elements
/// used last are found without a search: neighbouring ids have cache places of their own.
template <class T>
class StreamMap {
 public:
  StreamMap() = default;
  StreamMap(StreamMap&& other) noexcept : elements_(std::move(other.elements_)) { other.clear(); }
  StreamMap& operator=(StreamMap&& other) noexcept {
    elements_ = std::move(other.elements_);
    forget_recent();
    other.clear();
    return *this;
  }

  T* find(StreamId id) {
    Recent& recent = recent_[id % kRecent];
    if (recent.id == id) [[likely]]
      return recent.element;
    const auto found = elements_.find(id);
    if (found == elements_.end()) return nullptr;
    recent = {id, &found->second};
    return recent.element;
  }
  const T* find(StreamId id) const {
    const Recent& recent = recent_[id % kRecent];
    if (recent.id == id) [[likely]]
      return recent.element;
    const auto found = elements_.find(id);
    return found == elements_.end() ? nullptr : &found->second;
  }
  bool contains(StreamId id) const { return find(id) != nullptr; }
  /// Makes the element if the stream has none.
  T& operator[](StreamId id) {
    if (T* const known = find(id)) [[likely]]
      return *known;
    return elements_[id];
  }
  void erase(StreamId id) {
    recent_[id % kRecent] = {};
    elements_.erase(id);
  }
  template <class Condition>
  void erase_if(Condition condition) {
    forget_recent();
    std::erase_if(elements_, condition);
  }
  void clear() {
    forget_recent();
    elements_.clear();
  }
  /// Pairs of an id and an element.
  auto begin() { return elements_.begin(); }
  auto end() { return elements_.end(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

 private:
  static constexpr std::size_t kRecent = 8;
  // No stream has the id 0, so an unused place never matches.
  struct Recent {
    StreamId id = 0;
    T* element = nullptr;
  };
  void forget_recent() {
    for (Recent& recent : recent_) recent = {};
  }

  std::unordered_map<StreamId, T> elements_;
  Recent recent_[kRecent];
};

}  // namespace cuvmm
