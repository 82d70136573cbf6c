// SPDX-License-Identifier: Apache-2.0
// Refusals for people and for the JSON report.
#pragma once

#include <string>

#include "shim/findings/refusal_entry.h"

namespace cuvmm::shim {

/// The members of a refusal without "count", "handled" and the braces (docs/report.md).
std::string refusal_members(const RefusalEntry& entry);

/// The text at the end of a process: for each refusal that no later call settled one line, and one
/// or two lines of facts. "" if there is no such refusal.
std::string refusals_text(const RefusalEntry* first);

}  // namespace cuvmm::shim
