// SPDX-License-Identifier: Apache-2.0
// Shortens names of functions, so that they fit into a line of a viewer.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::tools {

/// A name of at most 120 characters stays unchanged. In a longer name, template arguments become
/// "<...>"; if the name is then still too long, parameters become "(...)".
std::string brief_function(std::string_view name);

}  // namespace cuvmm::tools
