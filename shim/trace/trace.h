// SPDX-License-Identifier: Apache-2.0
// CUVMM_TRACE: the program's calls as program text, which `cuvmm replay` runs again, or as lines of
// JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shim/session/session.h"

namespace cuvmm::shim {

/// Which calls lines of JSON have.
struct TraceFilter {
  std::vector<std::string> calls;  ///< globs over names of functions; none: all
  bool errors = false;             ///< only those that did not succeed

  /// `calls`: globs with commas between.
  static TraceFilter of(std::string_view calls, bool errors);
};

/// Opens `path` anew; one that ends in .jsonl gets lines of JSON. Null, with a line on stderr, when
/// it cannot be written.
std::unique_ptr<CallObserver> open_trace(const std::string& path, const TraceFilter& filter = {});

}  // namespace cuvmm::shim
