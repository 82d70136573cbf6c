// SPDX-License-Identifier: Apache-2.0
// A trace as lines of JSON (docs/view/README.md): a line for each call, for jq and scripts.
#pragma once

#include <memory>
#include <string>

#include "shim/session/session.h"
#include "shim/trace/trace_file.h"
#include "shim/trace/trace_filter.h"

namespace cuvmm::shim {

/// The first line, which names the process and the clock.
std::string json_trace_start();

std::unique_ptr<CallObserver> json_trace(TraceFile file, const TraceFilter& filter);

}  // namespace cuvmm::shim
