// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rulebook/base/violation.h"
#include "rulebook/check/check.h"
#include "shim/history/causes.h"

namespace cuvmm::shim {

/// Says of objects that ended with their context which call ended the context, and names the
/// repair.
void name_context_end(const Causes& causes, Violations& violations);

}  // namespace cuvmm::shim
