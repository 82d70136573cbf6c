// SPDX-License-Identifier: Apache-2.0
// What of the calls a trace has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// Which calls lines of JSON have.
struct TraceFilter {
  std::vector<std::string> calls;  ///< globs over names of functions; none: all
  bool errors = false;             ///< only those that did not succeed

  /// `calls`: globs with commas between.
  static TraceFilter of(std::string_view calls, bool errors);
  bool takes(std::string_view function, bool success) const;
};

}  // namespace cuvmm::shim
