// SPDX-License-Identifier: Apache-2.0
// Children of fork that inherited an initialised driver, and whose calls the driver refused.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// The refusals of such children that the children have not printed themselves, because they ended
/// without an error or were killed. Called for a program that failed, because a child may be the
/// cause. "" if there are none.
std::string forked_children_text(const Json& report);

/// Whether the report of a process is whole although the process wrote it in its midst: the driver
/// refuses each call of such a child, so there is nothing to add.
bool is_refused_child(const Json& report);

}  // namespace cuvmm::tools
