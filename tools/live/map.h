// SPDX-License-Identifier: Apache-2.0
// The address space of a process that lives.
#pragma once

#include <string>

#include "recorder/holdings/reader.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// Reservations with their mappings, then what is not reserved. Equal mappings side by side are one
/// line, unless `whole`.
std::string map_text(const holdings::View& view, const holdings::Snapshot& now, bool whole);
Json map_json(const holdings::View& view, const holdings::Snapshot& now);

}  // namespace cuvmm::tools
