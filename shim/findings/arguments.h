// SPDX-License-Identifier: Apache-2.0
// The arguments of a call as a report shows them: addresses in hex, sizes in MiB.
#pragma once

#include <vector>

#include "api/print.h"

namespace cuvmm::shim {

/// One text for each parameter. Reads the memory that in-parameters point to; out-parameters read
/// "out".
std::vector<ArgumentText> describe_arguments(const Call& call);

}  // namespace cuvmm::shim
