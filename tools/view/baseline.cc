// SPDX-License-Identifier: Apache-2.0
#include "tools/view/baseline.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

Against mark_against(Json& report, const Json& older) {
  std::map<std::string, const Json*> known;
  std::set<std::string> seen;
  for (const Json& finding : list_in(older, "findings"))
    known.emplace(fingerprint(finding), &finding);
  Against result;
  const auto findings = report.find("findings");
  if (findings == report.end() || !findings->is_array()) return result;
  for (Json& finding : *findings) {
    const std::string print = fingerprint(finding);
    seen.insert(print);
    const bool old = known.contains(print);
    finding["baseline"] = old ? "unchanged" : "new";
    ++(old ? result.unchanged : result.fresh);
  }
  Json absent = Json::array();
  for (const auto& [print, finding] : known) {
    if (seen.contains(print)) continue;
    absent.push_back(*finding);
    absent.back()["baseline"] = "absent";
  }
  result.absent = absent.size();
  report["absent"] = std::move(absent);
  return result;
}

}  // namespace cuvmm::tools
