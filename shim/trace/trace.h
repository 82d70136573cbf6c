// SPDX-License-Identifier: Apache-2.0
// CUVMM_TRACE: the program's calls as program text, which `cuvmm replay` runs again, or as lines of
// JSON.
#pragma once

#include <memory>
#include <string>

#include "shim/session/session.h"
#include "shim/trace/trace_filter.h"

namespace cuvmm::shim {

/// Writes `path` anew; a path that ends in .jsonl gets lines of JSON. Null, with a line on stderr,
/// if the file cannot be written.
std::unique_ptr<CallObserver> open_trace(const std::string& path, const TraceFilter& filter = {});

}  // namespace cuvmm::shim
