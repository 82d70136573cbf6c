// SPDX-License-Identifier: Apache-2.0
// Plants faults: turns a legal call into one that breaks a rule.
#include <algorithm>

#include "fuzz/record/first_generator/generator.h"

namespace cuvmm::fuzz::first {

namespace {

/// The values to put into an op of this call, field by field; kKeep leaves a field as it is.
constexpr int kKeep = -1;
struct Recipe {
  Code code;
  enum class How : std::uint8_t { kChange, kRepeat, kMoveFirst, kMoveLast } how = How::kChange;
  std::uint8_t Op::*field = nullptr;
  int value = kKeep;
};
using How = Recipe::How;

constexpr int kPage = 1, kByte = 2, kTooLarge = 8, kTebibyte = 7;  // indices into kOdd
constexpr int kNoDevice = 11, kNoNode = 10, kNoType = 12;          // into kPlaces

// kRepeat makes the call twice. kMoveFirst makes the call before all other calls that name its
// range.
constexpr Recipe kRecipes[] = {
    {Code::kReserve, How::kChange, &Op::faults, kNullOut},
    {Code::kReserve, How::kChange, &Op::odd_size, kPage},
    {Code::kReserve, How::kChange, &Op::odd_size, kByte},
    {Code::kReserve, How::kChange, &Op::odd_size, kTooLarge},
    {Code::kReserve, How::kChange, &Op::odd, kPage},
    {Code::kReserve, How::kChange, &Op::odd, kByte},
    {Code::kReserve, How::kChange, &Op::odd, kTooLarge},
    {Code::kReserve, How::kChange, &Op::extra, 5},
    {Code::kReserve, How::kChange, &Op::extra, 6},
    {Code::kReserve, How::kChange, &Op::extra, 7},
    {Code::kReserve, How::kChange, &Op::flags, 1},
    {Code::kReserve, How::kChange, &Op::size, 0},
    {Code::kFree, How::kChange, &Op::ref, 0},
    {Code::kFree, How::kRepeat},
    {Code::kUnmap, How::kMoveLast},
    {Code::kCreate, How::kChange, &Op::faults, kNullOut},
    {Code::kCreate, How::kChange, &Op::faults, kNullIn},
    {Code::kCreate, How::kChange, &Op::size, 0},
    {Code::kCreate, How::kChange, &Op::odd_size, kPage},
    {Code::kCreate, How::kChange, &Op::odd_size, kTebibyte},
    {Code::kCreate, How::kChange, &Op::flags, 1},
    {Code::kCreate, How::kChange, &Op::extra, 4},
    {Code::kCreate, How::kChange, &Op::place, kNoType},
    {Code::kCreate, How::kChange, &Op::place, kNoDevice},
    {Code::kCreate, How::kChange, &Op::place, kNoNode},
    {Code::kCreate, How::kChange, &Op::value, 16},
    {Code::kCreate, How::kChange, &Op::value, 2},
    {Code::kCreate, How::kChange, &Op::value, 8},
    {Code::kCreate, How::kChange, &Op::extra, 11},
    {Code::kCreate, How::kChange, &Op::extra, 7},
    {Code::kCreate, How::kChange, &Op::extra, 5},
    {Code::kCreate, How::kChange, &Op::extra, 6},
    {Code::kCreate, How::kChange, &Op::extra, 8},
    {Code::kCreate, How::kChange, &Op::extra, 10},
    {Code::kRelease, How::kChange, &Op::ref, 0},
    {Code::kRelease, How::kRepeat},
    {Code::kProperties, How::kChange, &Op::faults, kNullOut},
    {Code::kProperties, How::kChange, &Op::ref, 0},
    {Code::kRetain, How::kChange, &Op::faults, kNullOut},
    {Code::kRetain, How::kChange, &Op::at, 250},
    {Code::kGranularity, How::kChange, &Op::faults, kNullOut},
    {Code::kGranularity, How::kChange, &Op::faults, kNullIn},
    {Code::kGranularity, How::kChange, &Op::value, 32},
    {Code::kGranularity, How::kChange, &Op::place, kNoDevice},
    {Code::kMap, How::kChange, &Op::ref, 0},
    {Code::kMap, How::kRepeat},
    {Code::kMap, How::kChange, &Op::odd, kPage},
    {Code::kMap, How::kChange, &Op::size, 0},
    {Code::kMap, How::kChange, &Op::odd_size, kPage},
    {Code::kMap, How::kChange, &Op::extra, 1},
    {Code::kMap, How::kChange, &Op::odd_size, kTebibyte},
    {Code::kMap, How::kChange, &Op::ref2, 0},
    {Code::kMap, How::kChange, &Op::flags, 1},
    {Code::kMap, How::kChange, &Op::at, 250},
    {Code::kUnmap, How::kChange, &Op::at, 250},
    {Code::kUnmap, How::kChange, &Op::size, 0},
    {Code::kUnmap, How::kChange, &Op::size, 250},
    {Code::kUnmap, How::kChange, &Op::odd, kPage},
    {Code::kUnmap, How::kRepeat},
    {Code::kSetAccess, How::kChange, &Op::ref, 0},
    {Code::kSetAccess, How::kChange, &Op::size, 0},
    {Code::kSetAccess, How::kChange, &Op::faults, kNoCount},
    {Code::kSetAccess, How::kChange, &Op::faults, kNullIn},
    {Code::kSetAccess, How::kChange, &Op::value, 2},
    {Code::kSetAccess, How::kChange, &Op::place, kNoType},
    {Code::kSetAccess, How::kChange, &Op::place, kNoDevice},
    {Code::kSetAccess, How::kChange, &Op::place, kHostPlace},
    {Code::kSetAccess, How::kChange, &Op::odd, kPage},
    {Code::kSetAccess, How::kChange, &Op::odd_size, kPage},
    {Code::kSetAccess, How::kChange, &Op::at, 250},
    {Code::kGetAccess, How::kChange, &Op::faults, kNullOut},
    {Code::kGetAccess, How::kChange, &Op::faults, kNullIn},
    {Code::kGetAccess, How::kChange, &Op::place, kNoDevice},
    {Code::kGetAccess, How::kChange, &Op::ref, 0},
    {Code::kGetAccess, How::kChange, &Op::at, 250},
    {Code::kExport, How::kChange, &Op::faults, kNullOut},
    {Code::kExport, How::kChange, &Op::flags, 1},
    {Code::kExport, How::kChange, &Op::ref, 0},
    {Code::kExport, How::kChange, &Op::value, 3},
    {Code::kExport, How::kChange, &Op::value, 2},
    {Code::kImport, How::kChange, &Op::faults, kNullOut},
    {Code::kImport, How::kChange, &Op::value, 9},
    {Code::kImport, How::kChange, &Op::value, 2},
    {Code::kImport, How::kChange, &Op::ref, 0},
    {Code::kImport, How::kChange, &Op::extra, 1},
    {Code::kImport, How::kChange, &Op::value, 8},
    {Code::kRangeHandle, How::kChange, &Op::faults, kNullOut},
    {Code::kRangeHandle, How::kChange, &Op::value, 2},
    {Code::kRangeHandle, How::kChange, &Op::flags, 2},
    {Code::kRangeHandle, How::kChange, &Op::odd_size, kByte},
    {Code::kRangeHandle, How::kChange, &Op::size, 250},
    {Code::kUnmap, How::kMoveFirst},
    {Code::kFill, How::kChange, &Op::actor, 2},
    {Code::kMemFree, How::kChange, &Op::at, 0},
};

}  // namespace

void plant(Ops& ops, Random& random) {
  const Recipe& recipe = kRecipes[random.below(std::size(kRecipes))];
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].code == recipe.code) places.push_back(i);
  }
  if (places.empty()) return;
  const std::size_t at = places[random.below(static_cast<std::uint32_t>(places.size()))];
  Op changed = ops[at];
  const auto begin = ops.begin() + static_cast<std::ptrdiff_t>(at);
  if (recipe.how == How::kRepeat) {
    ops.insert(begin, changed);
  } else if (recipe.how == How::kChange) {
    changed.*recipe.field = static_cast<std::uint8_t>(recipe.value);
    canonicalise(changed);
    ops[at] = changed;
  } else {
    const std::size_t to = recipe.how == How::kMoveLast
                               ? ops.size()
                               : random.below(static_cast<std::uint32_t>(at + 1));
    ops.erase(begin);
    ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(std::min(to, ops.size())), changed);
  }
}

}  // namespace cuvmm::fuzz::first
