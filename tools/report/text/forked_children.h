// SPDX-License-Identifier: Apache-2.0
// Children of fork that inherited an initialised driver, and whose calls the driver refused.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// A refusal of each such child that has not printed one itself, because it ended without an error
/// or was killed. A program that `failed` may have failed because of a child; of another program
/// the text names only children that asked the driver to do work, because a child that only asked
/// questions may do without CUDA. "" if there are none.
std::string forked_children_text(const Json& report, bool failed);

/// Whether the report of a process is whole although the process wrote it in its midst: the driver
/// refuses each call of such a child, so there is nothing to add.
bool is_refused_child(const Json& report);

}  // namespace cuvmm::tools
