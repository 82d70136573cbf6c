// SPDX-License-Identifier: Apache-2.0
#include "tools/view/baseline.h"

#include <set>
#include <string>

#include "tools/view/finding_text.h"

namespace cuvmm::tools {

Against mark_against(Json& report, const Json& older) {
  std::set<std::string> known, seen;
  for (const Json& finding : list_in(older, "findings")) known.insert(fingerprint(finding));
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
  for (const std::string& print : known) {
    if (!seen.contains(print)) ++result.absent;
  }
  return result;
}

}  // namespace cuvmm::tools
