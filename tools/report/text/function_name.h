// SPDX-License-Identifier: Apache-2.0
// Names of functions that fit into a line of a viewer.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::tools {

/// A name of at most 120 characters stays. Of a longer one, template arguments become "<...>", and
/// if that is not enough, parameters become "(...)".
std::string brief_function(std::string_view name);

}  // namespace cuvmm::tools
