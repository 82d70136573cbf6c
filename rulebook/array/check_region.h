// SPDX-License-Identifier: Apache-2.0
// Arrays whose making was seen: whether they ended, and what cuMemMapArrayAsync maps of them.
#pragma once

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// Whether the array was destroyed, as far as is known; adds `rule` if so. Sure only where
/// everything is seen: an array of graphics, say, may have the value by now.
bool check_ended(Collector& out, const Model& model, const void* array, Rule rule);

/// The array of the entry, as far as it is known: null where its making was not seen, or where it
/// is of another kind than resourceType says. Adds what is wrong with it as a whole.
const ArrayObject* check_resource(Collector& out, const Model& model, const CUarrayMapInfo& info);

/// The entry's subresource lies in the array, and on its tiles. Not for arrays whose mapping is
/// deferred: they ignore it.
void check_region(Collector& out, const ArrayObject& array, const CUarrayMapInfo& info);

/// Bytes of memory that the entry shows; 0 unknown.
std::uint64_t region_size(const ArrayObject& array, const CUarrayMapInfo& info);

}  // namespace cuvmm::detail
