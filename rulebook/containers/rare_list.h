// SPDX-License-Identifier: Apache-2.0
// A list that is nearly always empty, and then is only a null pointer. Code that makes and destroys
// such a list on every call stays short, which matters when the caches are cold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace cuvmm {

/// A std::vector<T> that is allocated with the first element. T is copyable.
template <class T>
class RareList {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  RareList() noexcept = default;
  RareList(std::initializer_list<T> elements) {
    if (elements.size() != 0) list() = elements;
  }
  RareList(const RareList& other) {
    if (other.list_) list() = *other.list_;
  }
  RareList(RareList&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
  RareList& operator=(RareList other) noexcept {
    std::swap(list_, other.list_);
    return *this;
  }
  ~RareList() {
    if (list_) [[unlikely]]
      destroy();
  }

  bool empty() const { return !list_ || list_->empty(); }
  size_type size() const { return list_ ? list_->size() : 0; }
  iterator begin() { return list_ ? list_->data() : nullptr; }
  iterator end() { return list_ ? list_->data() + list_->size() : nullptr; }
  const_iterator begin() const { return const_cast<RareList*>(this)->begin(); }
  const_iterator end() const { return const_cast<RareList*>(this)->end(); }
  T& operator[](size_type i) { return begin()[i]; }
  const T& operator[](size_type i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return *(end() - 1); }
  const T& back() const { return *(end() - 1); }

  void push_back(T element) { list().push_back(std::move(element)); }
  /// Adds the elements of `other` at the end.
  void append(const RareList& other) {
    if (!other.empty()) list().insert(list().end(), other.begin(), other.end());
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    if (list_) std::erase_if(*list_, predicate);
  }

 private:
  [[gnu::cold, gnu::noinline]] std::vector<T>& list() {
    if (!list_) list_ = new std::vector<T>;
    return *list_;
  }
  [[gnu::cold, gnu::noinline]] void destroy() noexcept { delete list_; }

  std::vector<T>* list_ = nullptr;
};

}  // namespace cuvmm
