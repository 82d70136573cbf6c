// SPDX-License-Identifier: Apache-2.0
// One finding as JSON members.
#pragma once

#include <string>

#include "shim/facts/entry.h"

namespace cuvmm::shim {

/// The members of a finding without "count" and the braces.
std::string finding_members(const Entry& entry);

}  // namespace cuvmm::shim
