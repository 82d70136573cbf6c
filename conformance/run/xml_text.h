// SPDX-License-Identifier: Apache-2.0
// Text inside of XML, for all code of cuvmm that writes JUnit files.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm {

/// `text` as XML 1.0 may hold it, in an element or in an attribute in double quotes. A character
/// that XML cannot hold (most control characters, U+FFFE and U+FFFF, bytes that are no UTF-8)
/// becomes U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace cuvmm
