// SPDX-License-Identifier: Apache-2.0
// What an opcode is qualified by: `add.rn.ftz.f32`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/text/type.h"

namespace cuvmm::kernels {

/// Each is taken by who understands it; what is left at the end nobody knows.
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
  bool take(std::string_view modifier) {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (*at != modifier) continue;
      left_.erase(at);
      return true;
    }
    return false;
  }
  /// The first of those left that begins so; empty: none does.
  std::string_view take_beginning(std::string_view with) {
    for (auto at = left_.begin(); at != left_.end(); ++at) {
      if (!at->starts_with(with)) continue;
      const std::string_view found = *at;
      left_.erase(at);
      return found;
    }
    return {};
  }
  /// The first type that is left; kNone where there is none.
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
  /// The index in `names` of the first that is one of them; `otherwise` where none is.
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
  /// What nobody took; empty where all was understood.
  std::string_view unknown() const { return left_.empty() ? std::string_view{} : left_.front(); }

 private:
  std::string_view base_;
  std::vector<std::string_view> left_;
};

}  // namespace cuvmm::kernels
