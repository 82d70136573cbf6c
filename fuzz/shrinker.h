// Makes a program that shows something as short and plain as it can be.
#pragma once

#include <functional>

#include "fuzz/op.h"

namespace cuvmm::fuzz {

struct ShrinkResult {
  Ops ops;
  unsigned candidates = 0;  ///< how many programs were tried
};

/// `shows` says whether a program still does what matters; it does for `ops`. Drops the tail, then
/// what has nothing to do with the last call, then runs of calls, single ones and pairs; then makes
/// the fields of what is left plain. Stops after `most` tries.
ShrinkResult shrink(Ops ops, const std::function<bool(const Ops&)>& shows, unsigned most = 2000);

}  // namespace cuvmm::fuzz
