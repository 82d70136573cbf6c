// SPDX-License-Identifier: Apache-2.0
// Calls that come once the driver has ended: destructors of static objects make them, and in most
// programs they mean nothing.
#pragma once

#include "api/calls.h"
#include "rulebook/base/violation.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Says, once in a process, that the call of `stack` came too late, where the program itself had
/// ended a context before: `context_end`, call 0: it had not. In place of a finding: the last
/// report is over by then.
[[gnu::cold]] void tell_after_end(EntryPoint entry, StackId stack, const Origin& context_end);

}  // namespace cuvmm::shim
