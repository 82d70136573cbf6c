// SPDX-License-Identifier: Apache-2.0
// JSON as the reports are read and joined: members stay in their order.
#pragma once

#include <nlohmann/json.hpp>

namespace cuvmm::tools {

using Json = nlohmann::ordered_json;

}  // namespace cuvmm::tools
