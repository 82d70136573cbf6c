// SPDX-License-Identifier: Apache-2.0
// Faults by rule: the calls of is_further().
#include "fuzz/generate/recipe.h"

namespace cuvmm::fuzz {

namespace {

constexpr int kUsedNow = 7, kUsedMost = 8;  // attributes of a pool

constexpr Recipe kFurtherRecipes[] = {
    {Rule::kPoolGetPoolValid, Code::kPoolAsk, How::kChange, &Op::ref, 0},
    {Rule::kPoolGetPoolAlive, Code::kPoolDestroy, How::kMoveFirst},
    {Rule::kPoolGetAttribute, Code::kPoolAsk, How::kChange, &Op::value, 31},
    {Rule::kPoolGetValue, Code::kPoolAsk, How::kChange, &Op::faults, kNullOut},
    {Rule::kPoolPutPoolValid, Code::kPoolTell, How::kChange, &Op::ref, 0},
    {Rule::kPoolPutPoolAlive, Code::kPoolDestroy, How::kMoveFirst},
    {Rule::kPoolPutAttribute, Code::kPoolTell, How::kChange, &Op::value, 0},
    {Rule::kPoolPutWritable, Code::kPoolTell, How::kChange, &Op::value, kUsedNow},
    {Rule::kPoolPutValue, Code::kPoolTell, How::kChange, &Op::faults, kNullIn},
    {Rule::kPoolPutHigh, Code::kPoolTell, How::kChange, &Op::value, kUsedMost},
    {Rule::kPoolTrimPoolValid, Code::kPoolTrim, How::kChange, &Op::ref, 0},
    {Rule::kPoolTrimPoolAlive, Code::kPoolDestroy, How::kMoveFirst},
    {Rule::kStreamMemAligned, Code::kWriteWord, How::kChange, &Op::odd, kByte},
    {Rule::kStreamMemFlags, Code::kWordBatch, How::kChange, &Op::flags, 1},
};

}  // namespace

std::span<const Recipe> further_recipes() { return kFurtherRecipes; }

}  // namespace cuvmm::fuzz
