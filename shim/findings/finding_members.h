// SPDX-License-Identifier: Apache-2.0
// One finding as JSON members.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "shim/findings/entry.h"

namespace cuvmm::shim {

/// The members of a finding without "count" and the braces.
std::string finding_members(const Entry& entry);

/// The member "arguments".
void add_arguments(std::string& out, const std::vector<ArgumentText>& arguments);
/// A member that is a stack.
void add_frames(std::string& out, const char* key, const std::vector<Frame>& frames);
/// Stacks made readable, as a JSON object by id.
std::string stacks_json(const std::set<StackId>& stacks);

}  // namespace cuvmm::shim
