// SPDX-License-Identifier: Apache-2.0
#include "tools/view/page/page.h"

#include <string_view>

#include "tools/timeline/timeline.h"

namespace cuvmm::tools {

namespace {

// The JSON as text for a <script> element. `<` is written by its number, because only `<` could end
// the element or change its meaning.
std::string embedded(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_of(const Json& report) {
  // Throws if the timeline is not as documented, because the page relies on that.
  (void)timelines_of(report);
  constexpr std::string_view kMark = "@DATA@";
  const std::string_view page = kReportPage;
  const std::size_t at = page.find(kMark);
  std::string out(page.substr(0, at));
  out += embedded(report);
  return out += page.substr(at + kMark.size());
}

}  // namespace cuvmm::tools
