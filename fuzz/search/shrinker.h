// SPDX-License-Identifier: Apache-2.0
// Makes a program that shows something as short and plain as it can be.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

struct ShrinkResult {
  Ops ops;
  unsigned candidates = 0;  ///< how many programs were tried
};

/// Where to stop: programs of two processes under the shim, each with each of its calls failing,
/// take a second and more on a busy machine.
struct ShrinkLimits {
  unsigned tries = 2000;
  std::chrono::milliseconds time = std::chrono::minutes(1);
};

/// A call that may do what another one does with fewer calls before it.
struct Simpler {
  Code code, instead;
};
std::span<const Simpler> simpler_calls();

/// `shows` says whether a program still does what matters; it does for `ops`. Drops the tail, then
/// what has nothing to do with the last call, then runs of calls, single ones and pairs; puts
/// simpler calls in place of others; then makes the fields of what is left plain. At its limits it
/// gives the shortest that it has.
ShrinkResult shrink(Ops ops, const std::function<bool(const Ops&)>& shows,
                    ShrinkLimits limits = {});

}  // namespace cuvmm::fuzz
