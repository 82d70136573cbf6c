// SPDX-License-Identifier: Apache-2.0
// Finds JSON documents that stand one after another in a text. The text may be damaged or hostile.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::tools {

/// Limits of a document, so that reading it costs bounded memory and time. Reports of real programs
/// stay far below them.
struct JsonLimits {
  std::size_t depth = 64;          ///< objects and lists in one another
  std::size_t members = 1000;      ///< of one object
  std::size_t values = 8'000'000;  ///< in the document
};

struct JsonDocuments {
  std::string_view last;   ///< the last object whose braces are complete; empty: none
  std::size_t values = 0;  ///< upper bound of the values in `last`
  bool torn = false;       ///< the text has something beside whole objects
  std::string excess;      ///< a clause with the limit that `last` exceeds; "": none
};

/// Finds the top-level objects of `text` by their braces and strings. Only a parser can tell
/// whether they are valid JSON. With `resume`, `{"schema":` always starts a document, even if the
/// document before it is incomplete, because a process may have appended a document behind an
/// incomplete one.
JsonDocuments find_json_documents(std::string_view text, bool resume,
                                  const JsonLimits& limits = {});

}  // namespace cuvmm::tools
