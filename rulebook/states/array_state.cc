// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/array_state.h"

#include <utility>

namespace cuvmm {

namespace {

constexpr ObjectRef::Kind kArray = ObjectRef::Kind::kArray;

template <class Array>
std::uint64_t handle_of(Array array) {
  return reinterpret_cast<std::uintptr_t>(array);
}

ArrayObject made(std::uint64_t handle, const CUDA_ARRAY3D_DESCRIPTOR& shape, const Facts& facts) {
  ArrayObject array;
  array.handle = handle;
  array.shape = shape;
  array.device = facts.place.device;
  array.context = facts.place.context_id;
  if (facts.array.sparse) array.sparse = *facts.array.sparse;
  return array;
}

}  // namespace

// If the driver gives a known handle out anew, the handle stands for another array from now on. The
// handle of a level comes back with each query for the level.
void ArrayState::add(ArrayObject&& array, Origin at, const Surroundings& around) {
  around.tombstones.forget(kArray, array.handle);
  array.made = at;
  arrays_.insert_or_assign(array.handle, std::move(array));
}

// --- Before the call goes to the driver

void ArrayState::take_out(std::uint64_t handle, const Surroundings& around, Retired& retired) {
  around.ends.note(kArray, handle);
  auto found = arrays_.find(handle);
  if (found == arrays_.end()) return;
  auto& arrays = retired.more().arrays;
  arrays.push_back(std::move(found->second));
  arrays_.erase(found);
  // The levels end with the array. Read by index, because the list may move while it grows.
  const std::size_t whole = arrays.size() - 1;
  for (std::size_t i = 0; i < arrays[whole].level_arrays.size(); ++i) {
    found = arrays_.find(arrays[whole].level_arrays[i]);
    if (found == arrays_.end() || found->second.parent != handle) continue;
    ArrayObject level = std::move(found->second);
    arrays_.erase(found);
    around.ends.note(kArray, level.handle);
    arrays.push_back(std::move(level));
  }
}

void ArrayState::begin(const calls::ArrayDestroy& call, Origin, const Surroundings& around,
                       Retired& retired) {
  take_out(handle_of(call.hArray), around, retired);
}

void ArrayState::begin(const calls::MipmappedArrayDestroy& call, Origin, const Surroundings& around,
                       Retired& retired) {
  take_out(handle_of(call.hMipmappedArray), around, retired);
}

void ArrayState::begin(const Ending& ending, Origin, const Surroundings&, Retired& retired) {
  move_out(arrays_, retired.more().context.arrays,
           [&](const ArrayObject& array) { return ending.ends(array.context, array.device); });
}

// --- After the driver accepted the call

void ArrayState::confirm(const calls::ArrayCreate& call, const Facts& facts, Origin at,
                         const Surroundings& around) {
  const CUDA_ARRAY_DESCRIPTOR& flat = *call.pAllocateArray;
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = flat.Width;
  shape.Height = flat.Height;
  shape.Format = flat.Format;
  shape.NumChannels = flat.NumChannels;
  add(made(handle_of(*call.pHandle), shape, facts), at, around);
}

void ArrayState::confirm(const calls::Array3DCreate& call, const Facts& facts, Origin at,
                         const Surroundings& around) {
  add(made(handle_of(*call.pHandle), *call.pAllocateArray, facts), at, around);
}

void ArrayState::confirm(const calls::MipmappedArrayCreate& call, const Facts& facts, Origin at,
                         const Surroundings& around) {
  ArrayObject array = made(handle_of(*call.pHandle), *call.pMipmappedArrayDesc, facts);
  array.mipmapped = true;
  array.levels = level_count(array.shape, call.numMipmapLevels);
  add(std::move(array), at, around);
}

void ArrayState::confirm(const calls::MipmappedArrayGetLevel& call, const Facts&, Origin at,
                         const Surroundings& around) {
  const std::uint64_t handle = handle_of(*call.pLevelArray);
  const auto whole = arrays_.find(handle_of(call.hMipmappedArray));
  if (whole == arrays_.end()) {
    // A level of an unknown array is unknown, too, whatever had the handle before.
    around.tombstones.forget(kArray, handle);
    arrays_.erase(handle);
    return;
  }
  const auto same = arrays_.find(handle);
  if (same != arrays_.end() && same->second.parent == whole->first) return;
  ArrayObject level;
  level.handle = handle;
  level.parent = whole->first;
  level.shape = whole->second.shape;
  level.shape.Width = level_extent(level.shape.Width, call.level);
  if (level.shape.Height > 0) level.shape.Height = level_extent(level.shape.Height, call.level);
  if (whole->second.three_dimensional()) {
    level.shape.Depth = level_extent(level.shape.Depth, call.level);
  }
  level.device = whole->second.device;
  level.context = whole->second.context;
  whole->second.level_arrays.push_back(handle);
  add(std::move(level), at, around);
}

void ArrayState::confirm(const calls::ExternalMemoryGetMappedMipmappedArray& call,
                         const Facts& facts, Origin at, const Surroundings& around) {
  ArrayObject array = made(handle_of(*call.mipmap), call.mipmapDesc->arrayDesc, facts);
  array.mipmapped = true;
  array.levels = call.mipmapDesc->numLevels;
  array.external = handle_of(call.extMem);
  add(std::move(array), at, around);
}

void ArrayState::confirm(const RarelyRetired& taken, Origin at, const Surroundings& around) {
  for (const ArrayObject& array : taken.arrays) {
    around.tombstones.add({kArray, array.handle, 0, array.made, at});
  }
  // A green context that ends may leave any array behind.
  if (taken.context.any) return;
  for (const ArrayObject& array : taken.context.arrays) {
    around.tombstones.add({kArray, array.handle, 0, array.made, at});
  }
}

// --- After the driver refused the call

void ArrayState::undo(const RarelyRetired& taken, Origin, const Surroundings& around) {
  for (const ArrayObject& array : taken.arrays) arrays_.try_emplace(array.handle, array);
  for (const ArrayObject& array : taken.context.arrays) {
    if (!around.ends.contains(kArray, array.handle)) arrays_.try_emplace(array.handle, array);
  }
}

}  // namespace cuvmm
