// SPDX-License-Identifier: Apache-2.0
// Faults by rule: the calls of is_further().
#include "fuzz/generate/recipe.h"

namespace cuvmm::fuzz {

namespace {

constexpr int kTwoDevices = 9;              // of a mask
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
    {Rule::kDataAlive, Code::kMemFree, How::kMoveFirst},
    {Rule::kDataInside, Code::kFill, How::kChange, &Op::odd, kNearEnd},
    {Rule::kArrayDestroyOnce, Code::kArrayEnd, How::kRepeat},
    {Rule::kMipmapDestroyOnce, Code::kMipmapEnd, How::kRepeat},
    {Rule::kLevelArrayAlive, Code::kMipmapEnd, How::kMoveFirst},
    {Rule::kLevelExists, Code::kMipmapLevel, How::kChange, &Op::extra, 7},
    {Rule::kArrayAlive, Code::kArrayEnd, How::kMoveFirst},
    {Rule::kArrayInside, Code::kArrayWrite, How::kChange, &Op::at, 255},
    {Rule::kStreamMemAligned, Code::kWriteWord, How::kChange, &Op::odd, kByte},
    {Rule::kStreamMemFlags, Code::kWordBatch, How::kChange, &Op::flags, 1},
    {Rule::kManagedOnly, Code::kPrefetch, How::kChange, &Op::flags, 0},
    {Rule::kManagedSize, Code::kAdvise, How::kChange, &Op::size, 0},
    {Rule::kManagedFlags, Code::kPrefetch, How::kChange, &Op::flags, 1},
    {Rule::kManagedLocation, Code::kPrefetch, How::kChange, &Op::place, kNoType},
    {Rule::kManagedDevice, Code::kPrefetch, How::kChange, &Op::place, kNoDevice},
    {Rule::kPlaceDefaultOut, Code::kPlaceDefault, How::kChange, &Op::faults, kNullOut},
    {Rule::kPlaceDefaultLocation, Code::kPlaceDefault, How::kChange, &Op::faults, kNullIn},
    {Rule::kPlaceDefaultType, Code::kPlaceDefault, How::kChange, &Op::extra, 1},
    {Rule::kPlaceDefaultLocationType, Code::kPlaceDefault, How::kChange, &Op::place, kNoType},
    {Rule::kPlaceDefaultLocationDevice, Code::kPlaceDefault, How::kChange, &Op::place, kNoDevice},
    {Rule::kPlaceDefaultLocationNode, Code::kPlaceDefault, How::kChange, &Op::place, kNoNode},
    {Rule::kPlaceCurrentOut, Code::kPlaceCurrent, How::kChange, &Op::faults, kNullOut},
    {Rule::kPlaceCurrentLocation, Code::kPlaceCurrent, How::kChange, &Op::faults, kNullIn},
    {Rule::kPlaceCurrentType, Code::kPlaceCurrent, How::kChange, &Op::extra, 3},
    {Rule::kPlaceCurrentLocationType, Code::kPlaceCurrent, How::kChange, &Op::place, kNoType},
    {Rule::kPlaceCurrentLocationDevice, Code::kPlaceCurrent, How::kChange, &Op::place, kNoDevice},
    {Rule::kPlaceCurrentLocationNode, Code::kPlaceCurrent, How::kChange, &Op::place, kNoNode},
    {Rule::kPlaceSetLocation, Code::kPlaceSet, How::kChange, &Op::faults, kNullIn},
    {Rule::kPlaceSetType, Code::kPlaceSet, How::kChange, &Op::extra, 2},
    {Rule::kPlaceSetLocationType, Code::kPlaceSet, How::kChange, &Op::place, kNoType},
    {Rule::kPlaceSetLocationDevice, Code::kPlaceSet, How::kChange, &Op::place, kNoDevice},
    {Rule::kPlaceSetLocationNode, Code::kPlaceSet, How::kChange, &Op::place, kNoNode},
    {Rule::kPlaceSetPoolValid, Code::kPlaceSet, How::kChange, &Op::ref, 0},
    {Rule::kPlaceSetMatches, Code::kPlaceSet, How::kChange, &Op::place, 2},
    {Rule::kArrayListNonnull, Code::kTilesMap, How::kChange, &Op::faults, kNullIn},
    {Rule::kArrayResourceNonnull, Code::kTilesMap, How::kChange, &Op::ref, 0},
    {Rule::kArrayResourceAlive, Code::kArrayEnd, How::kMoveFirst},
    {Rule::kArraySubresourceType, Code::kTilesMap, How::kChange, &Op::value, kMapTiles | 2 << 2},
    {Rule::kArrayLevelZero, Code::kTilesMap, How::kChange, &Op::extra, 1},
    {Rule::kArrayExtentNonzero, Code::kTilesMap, How::kChange, &Op::size, 0},
    {Rule::kArrayOperation, Code::kTilesMap, How::kChange, &Op::value, 0},
    {Rule::kArrayHandleType, Code::kTilesMap, How::kChange, &Op::odd2, 2},
    {Rule::kArrayFlagsZero, Code::kTilesMap, How::kChange, &Op::flags, 1},
    {Rule::kArrayReservedZero, Code::kTilesMap, How::kChange, &Op::flags, 2},
    {Rule::kArrayOneDevice, Code::kTilesMap, How::kChange, &Op::place, kTwoDevices},
    {Rule::kArrayStreamDevice, Code::kTilesMap, How::kChange, &Op::place, 1},
    {Rule::kArrayMemoryDevice, Code::kTileCreate, How::kChange, &Op::place, 1},
    {Rule::kArrayHandleNonzero, Code::kTilesMap, How::kChange, &Op::ref2, 0},
    {Rule::kArrayOffsetInside, Code::kTilesMap, How::kChange, &Op::at2, 63},
    {Rule::kArraySparse, Code::kTiledMake, How::kChange, &Op::flags, kTiledKinds - 1},
    {Rule::kArrayTiles, Code::kTilesMap, How::kChange, &Op::size, 15},
    {Rule::kArrayMemoryRoom, Code::kTilesMap, How::kChange, &Op::at2, 31},
};

}  // namespace

std::span<const Recipe> further_recipes() { return kFurtherRecipes; }

}  // namespace cuvmm::fuzz
