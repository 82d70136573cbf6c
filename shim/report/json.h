// SPDX-License-Identifier: Apache-2.0
// JSON text, written by hand: no third-party library is linked into the preloaded object.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::shim {

/// The string in quotes, escaped. Bytes that are not UTF-8 become U+FFFD, so that any reader takes
/// it.
std::string json_string(std::string_view text);

}  // namespace cuvmm::shim
