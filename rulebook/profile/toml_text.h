// SPDX-License-Identifier: Apache-2.0
// TOML texts of users, read by toml++ without exceptions. All of cuvmm includes toml++ through this
// header, because the settings of toml++ must be the same everywhere.
#pragma once

#define TOML_EXCEPTIONS 0
// toml++'s assertions fail on malformed texts such as "[+"; without them it refuses such a text.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace cuvmm {

struct TomlResult {
  toml::table table;
  std::string error;  ///< "" or "ORIGIN:LINE:COLUMN: what was expected"
};

/// Reads `text`. `origin` names it in errors.
TomlResult read_toml(std::string_view text, const std::string& origin);

/// "ORIGIN:LINE:COLUMN: what", for a mistake at `region`.
std::string toml_mistake(const std::string& origin, const toml::source_region& region,
                         const std::string& what);

}  // namespace cuvmm
