// SPDX-License-Identifier: Apache-2.0
// Calls that come after the driver has ended: destructors of static objects make them, and in most
// programs they do no harm.
#pragma once

#include "api/calls.h"
#include "rulebook/base/violation.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Prints, once in a process, that the call of `stack` came too late, if the program itself had
/// ended a context before: `context_end` has call 0 if it had not. Printed in place of a finding,
/// because the last report is over by then.
[[gnu::cold]] void tell_after_end(EntryPoint entry, StackId stack, const Origin& context_end);

}  // namespace cuvmm::shim
