// SPDX-License-Identifier: Apache-2.0
// The arguments of a call as a report shows them: addresses in hex, sizes in MiB.
#pragma once

#include <vector>

#include "api/print.h"

namespace cuvmm::shim {

/// One text per parameter. Reads what in-parameters point to; out-parameters read "out".
std::vector<ArgumentText> describe_arguments(const Call& call);

/// "2 MiB", "4 KiB", "2097153" (bytes).
std::string size_text(std::uint64_t bytes);
/// "0x7f0000200000".
std::string hex_text(std::uint64_t value);

}  // namespace cuvmm::shim
