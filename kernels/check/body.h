// SPDX-License-Identifier: Apache-2.0
// The names and types in the body of a function.
#pragma once

#include "kernels/check/target.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// The first mistake in a function with a body: a name that nothing declares or that a scope
/// declares twice, a label or a function that is not there, a register of another kind or width
/// than its instruction has, or an instruction that the target lacks. `links`: a function that is
/// declared need not have a body.
Error check_body(const Module& module, const Function& function, const Target& target, bool links);

}  // namespace cuvmm::kernels
