// SPDX-License-Identifier: Apache-2.0
#include "shim/trace/trace_filter.h"

#include <algorithm>

#include "shim/output/glob.h"

namespace cuvmm::shim {

TraceFilter TraceFilter::of(std::string_view calls, bool errors) {
  TraceFilter filter{{}, errors};
  while (!calls.empty()) {
    const std::size_t end = std::min(calls.find(','), calls.size());
    if (end != 0) filter.calls.emplace_back(calls.substr(0, end));
    calls.remove_prefix(std::min(end + 1, calls.size()));
  }
  return filter;
}

bool TraceFilter::takes(std::string_view function, bool success) const {
  if (errors && success) return false;
  return calls.empty() || std::ranges::any_of(calls, [&](const std::string& pattern) {
           return glob_matches(pattern, function);
         });
}

}  // namespace cuvmm::shim
