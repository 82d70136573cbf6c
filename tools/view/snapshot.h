// SPDX-License-Identifier: Apache-2.0
// A report as PyTorch's memory snapshot, which pytorch.org/memory_viz and torch.cuda._memory_viz
// read.
#pragma once

#include <string>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// Shows mapped memory, memory of cuMemAlloc and memory of pools: a segment for each contiguous
/// piece that is there at the end, and an event for each begin and end.
std::string snapshot_of(const Json& report);

}  // namespace cuvmm::tools
