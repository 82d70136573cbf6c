// SPDX-License-Identifier: Apache-2.0
// Text inside of XML: everything here that writes JUnit files uses it.
#pragma once

#include <string>
#include <string_view>

namespace cuvmm {

/// `text` as XML 1.0 may hold it, in an element or in an attribute in double quotes. What it has no
/// way to write (most control characters, U+FFFE and U+FFFF, bytes that are no UTF-8) becomes
/// U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace cuvmm
