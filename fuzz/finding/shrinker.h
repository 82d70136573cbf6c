// SPDX-License-Identifier: Apache-2.0
// Makes a program that shows a problem short and plain.
#pragma once

#include <functional>
#include <span>

#include "fuzz/finding/drop.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

struct ShrinkResult {
  Ops ops;
  unsigned candidates = 0;  ///< number of programs that were tried
};

/// A call that may show the problem of another call with fewer calls before it.
struct Simpler {
  Code code, instead;
};
std::span<const Simpler> simpler_calls();

/// Shrinks `ops`. `shows` says whether a program still shows the problem, as `ops` does. Drops the
/// tail, then all calls that are not related to the last call, then runs of calls, single calls and
/// pairs; replaces calls by simpler ones; then makes fields plain. At a limit, returns the shortest
/// program so far.
ShrinkResult shrink(Ops ops, const std::function<bool(const Ops&)>& shows,
                    ShrinkLimits limits = {});

}  // namespace cuvmm::fuzz
