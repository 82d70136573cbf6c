// SPDX-License-Identifier: Apache-2.0
// Selects the calls of a trace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// The calls that become lines of JSON.
struct TraceFilter {
  std::vector<std::string> calls;  ///< globs for names of functions; none: all functions
  bool errors = false;             ///< only calls that did not succeed

  /// `calls`: globs, separated by commas.
  static TraceFilter of(std::string_view calls, bool errors);
  bool takes(std::string_view function, bool success) const;
};

}  // namespace cuvmm::shim
