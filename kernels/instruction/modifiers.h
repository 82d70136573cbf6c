// SPDX-License-Identifier: Apache-2.0
// The modifiers of an opcode, such as those of `add.rn.ftz.f32`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/text/type.h"

namespace cuvmm::kernels {

/// A decoder takes each modifier that it understands; the modifiers left at the end are unknown.
class Modifiers {
 public:
  explicit Modifiers(std::string_view opcode) {
    std::size_t dot = opcode.find('.');
    base_ = opcode.substr(0, dot);
    while (dot != opcode.npos) {
      const std::size_t begin = dot + 1;
      dot = opcode.find('.', begin);
      left_.push_back(opcode.substr(begin, dot == opcode.npos ? dot : dot - begin));
    }
  }

  std::string_view base() const { return base_; }
  /// Whether the modifier is among those left.
  bool has(std::string_view modifier) const {
    return std::find(left_.begin(), left_.end(), modifier) != left_.end();
  }
  bool take(std::string_view modifier) {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (*at != modifier) continue;
      left_.erase(at);
      return true;
    }
    return false;
  }
  /// Takes the first modifier left that begins with `with`; empty: none does.
  std::string_view take_beginning(std::string_view with) {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (!at->starts_with(with)) continue;
      const std::string_view found = *at;
      left_.erase(at);
      return found;
    }
    return {};
  }
  /// Takes the first modifier left that is a type; kNone where none is.
  Type take_type() {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (const Type type = type_named(*at); type != Type::kNone) {
        left_.erase(at);
        return type;
      }
    }
    return Type::kNone;
  }
  Space take_space() {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (const Space space = space_named(*at); space != Space::kNone) {
        left_.erase(at);
        return space;
      }
    }
    return Space::kNone;
  }
  /// Takes the first modifier left that is among `names` and returns its index; `otherwise` where
  /// none is.
  template <std::size_t kCount>
  std::size_t take_one(const std::string_view (&names)[kCount], std::size_t otherwise) {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      for (std::size_t i = 0; i < kCount; ++i) {
        if (*at != names[i]) continue;
        left_.erase(at);
        return i;
      }
    }
    return otherwise;
  }
  /// The first modifier that no decoder took; empty where all were taken.
  std::string_view unknown() const { return left_.empty() ? std::string_view{} : left_.front(); }

 private:
  std::string_view base_;
  std::vector<std::string_view> left_;
};

}  // namespace cuvmm::kernels
