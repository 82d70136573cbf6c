// SPDX-License-Identifier: Apache-2.0
// Prints the address space of a living process.
#pragma once

#include <string>

#include "recorder/holdings/reader.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// Reservations with their mappings, then the memory outside of reservations. Equal neighbouring
/// mappings are one line, unless `whole` is set.
std::string map_text(const holdings::View& view, const holdings::Snapshot& now, bool whole);
Json map_json(const holdings::View& view, const holdings::Snapshot& now);

}  // namespace cuvmm::tools
