// SPDX-License-Identifier: Apache-2.0
// Reads JSON documents that stand one after another in a text, which may be damaged or hostile.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::tools {

/// What a document may hold, so that reading it costs bounded memory and time. Reports of real
/// programs stay far below.
struct JsonLimits {
  std::size_t depth = 64;          ///< objects and lists in one another
  std::size_t members = 1000;      ///< of one object
  std::size_t values = 8'000'000;  ///< in the document
};

struct JsonDocuments {
  std::string_view last;   ///< the last object that is whole, by its braces; empty: there is none
  std::size_t values = 0;  ///< in `last`, an upper bound
  bool torn = false;       ///< there is something beside whole objects
  std::string excess;      ///< which limit `last` is over, as a clause; "" when it is within all
};

/// Finds the top-level objects of `text` by their braces and strings. Whether they are valid JSON,
/// a parser has to say. With `resume`, `{"schema":` always starts a document, even if the one
/// before it is incomplete: a process may have appended a document behind a torn one.
JsonDocuments find_json_documents(std::string_view text, bool resume,
                                  const JsonLimits& limits = {});

}  // namespace cuvmm::tools
