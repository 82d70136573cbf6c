// SPDX-License-Identifier: Apache-2.0
// Answers a Prometheus that scrapes.
#pragma once

#include <functional>
#include <string>

namespace cuvmm::tools {

/// Serves /metrics by HTTP at "HOST:PORT" until the user ends the command. PORT 0 is any free one:
/// stderr says which. Throws UsageError where nobody can listen there.
void serve_metrics(const std::string& address, const std::function<std::string()>& text);

}  // namespace cuvmm::tools
