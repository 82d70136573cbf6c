// SPDX-License-Identifier: Apache-2.0
// Checks of arrays that the model saw being made: whether they ended, and which part of them
// cuMemMapArrayAsync maps.
#pragma once

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// Whether the array was destroyed, as far as the model knows; adds `rule` if so. The finding is
/// certain only where the model sees everything: graphics, say, may make an array that now has this
/// handle.
bool check_ended(Collector& out, const Model& model, const void* array, Rule rule);

/// The array that the entry names. Null where the model did not see it being made, or where
/// resourceType names another kind. Adds the mistakes about the array as a whole.
const ArrayObject* check_resource(Collector& out, const Model& model, const CUarrayMapInfo& info);

/// Checks that the entry's subresource lies in the array, and on its tiles. Not for arrays whose
/// mapping is deferred, because the driver ignores the subresource there.
void check_region(Collector& out, const ArrayObject& array, const CUarrayMapInfo& info);

/// Bytes of memory that the entry maps; 0 unknown.
std::uint64_t region_size(const ArrayObject& array, const CUarrayMapInfo& info);

}  // namespace cuvmm::detail
