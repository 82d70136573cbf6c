// SPDX-License-Identifier: Apache-2.0
// CUVMM_TRACE: the program's calls as program text, which `cuvmm replay` runs again.
#pragma once

#include <memory>
#include <string>

#include "shim/session/session.h"

namespace cuvmm::shim {

/// Opens `path` anew. Null, with a line on stderr, when it cannot be written.
std::unique_ptr<CallObserver> open_trace(const std::string& path);

}  // namespace cuvmm::shim
