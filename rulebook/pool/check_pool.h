// SPDX-License-Identifier: Apache-2.0
// What the checks of pools share.
#pragma once

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

struct PoolRules {
  Rule valid, alive;
};

/// The pool, or null: with a violation, unless it merely was made where we did not see it.
const Pool* check_pool(Collector& out, const Model& model, CUmemoryPool handle,
                       const PoolRules& rules, const Facts& facts);

/// Whether the pool is a default one, by the model or by what the driver was asked.
inline bool is_default(const Pool* pool, const Facts& facts) {
  return (pool && pool->is_default) || facts.pool.is_default == Facts::Answer::kYes;
}

/// Not known to be beyond the last device.
inline bool may_exist(const Model& model, int device) {
  const int count = model.platform().device_count;
  return device >= 0 && (count < 0 || device < count);
}

/// What is wrong with the place of a pool: nothing, one of the rules, or a node that only the
/// driver can judge. False when it is wrong for certain. `managed`: it is where such memory prefers
/// to be. `other_reason`: the driver has another one to refuse, so an existing node is not
/// suspected.
struct PlaceRules {
  Rule type, device, domain, node;
};
bool check_place(Collector& out, const Model& model, const CUmemLocation& place, bool managed,
                 const PlaceRules& rules, bool other_reason = false);

}  // namespace cuvmm::detail
