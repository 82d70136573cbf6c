// SPDX-License-Identifier: Apache-2.0
// A report as a Perfetto trace (ui.perfetto.dev): the memory of each process over time.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Tracks for each process and reservation, counters of bytes, findings with flows from their
/// objects. Times are CLOCK_BOOTTIME, with a snapshot that ties it to CLOCK_REALTIME.
std::string perfetto_of(const Json& report);

}  // namespace cuvmm::tools
