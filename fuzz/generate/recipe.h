// SPDX-License-Identifier: Apache-2.0
// Recipes that turn a legal call into a call that breaks a rule.
#pragma once

#include <span>

#include "fuzz/ops/op.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::fuzz {

/// The values to put into an op of this call, field by field; kKeep leaves a field as it is.
constexpr int kKeep = -1;
struct Recipe {
  Rule rule;
  Code code;
  enum class How : std::uint8_t { kChange, kRepeat, kMoveFirst } how = How::kChange;
  std::uint8_t Op::*field = nullptr;
  int value = kKeep;
};
using How = Recipe::How;

constexpr int kPage = 1, kByte = 2, kNearEnd = 6, kTooLarge = 8,
              kTebibyte = 7;                               // indices into kOdd
constexpr int kNoDevice = 11, kNoNode = 10, kNoType = 12;  // into kPlaces

/// Recipes for logical endpoints and fabric copies.
std::span<const Recipe> endpoint_recipes();
/// Recipes for the calls of is_further().
std::span<const Recipe> further_recipes();

}  // namespace cuvmm::fuzz
