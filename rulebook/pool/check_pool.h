// SPDX-License-Identifier: Apache-2.0
// Functions that several checks of pools use.
#pragma once

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

struct PoolRules {
  Rule valid, alive;
};

/// The pool of the handle, or null. Null comes with a violation, unless the pool may have been made
/// where cuvmm did not see it.
const Pool* check_pool(Collector& out, const Model& model, CUmemoryPool handle,
                       const PoolRules& rules, const Facts& facts);

/// Whether the pool is a default pool, by the model or by the driver's answer.
inline bool is_default(const Pool* pool, const Facts& facts) {
  return (pool && pool->is_default) || facts.pool.is_default == Facts::Answer::kYes;
}

/// Whether the device may exist: its number is not known to be behind the last device.
inline bool may_exist(const Model& model, int device) {
  const int count = model.platform().device_count;
  return device >= 0 && (count < 0 || device < count);
}

/// Checks the place of a pool, and adds one of the rules, or nothing where only the driver can
/// judge a node. False when the place is certainly wrong. `managed`: the place is where managed
/// memory prefers to be. `other_reason`: the driver has another reason to refuse the call, so an
/// existing node is not suspected.
struct PlaceRules {
  Rule type, device, domain, node;
};
bool check_place(Collector& out, const Model& model, const CUmemLocation& place, bool managed,
                 const PlaceRules& rules, bool other_reason = false);

}  // namespace cuvmm::detail
