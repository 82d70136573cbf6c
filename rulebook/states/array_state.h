// SPDX-License-Identifier: Apache-2.0
// The arrays that this process made.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "api/calls.h"
#include "rulebook/objects/array_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The verbs are those of UnicastState. Arrays that others make (graphics, texture references,
/// planes) are not here, and no check reports them.
class ArrayState {
 public:
  /// The array with this handle; null: unknown.
  const ArrayObject* find(std::uint64_t handle) const {
    const auto found = arrays_.find(handle);
    return found == arrays_.end() ? nullptr : &found->second;
  }
  const std::unordered_map<std::uint64_t, ArrayObject>& all() const { return arrays_; }

  void begin(const calls::ArrayDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MipmappedArrayDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  void confirm(const calls::ArrayCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::Array3DCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MipmappedArrayCreate& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MipmappedArrayGetLevel& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::ExternalMemoryGetMappedMipmappedArray& call, const Facts& facts,
               Origin at, const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

 private:
  void add(ArrayObject&& array, Origin at, const Surroundings& around);
  void take_out(std::uint64_t handle, const Surroundings& around, Retired& retired);

  std::unordered_map<std::uint64_t, ArrayObject> arrays_;
};

}  // namespace cuvmm
