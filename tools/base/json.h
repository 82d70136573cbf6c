// SPDX-License-Identifier: Apache-2.0
// The JSON type of reports. Members stay in their order.
#pragma once

#include <nlohmann/json.hpp>

namespace cuvmm::tools {

using Json = nlohmann::ordered_json;

}  // namespace cuvmm::tools
