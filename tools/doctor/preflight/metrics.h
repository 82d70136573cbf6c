// SPDX-License-Identifier: Apache-2.0
// A preflight as OpenMetrics text, which Prometheus' older text format has as well.
#pragma once

#include <string>

#include "tools/doctor/preflight/preflight.h"

namespace cuvmm::doctor {

std::string metrics_text(const Preflight& preflight, const Occasion& occasion);

}  // namespace cuvmm::doctor
