// SPDX-License-Identifier: Apache-2.0
// The result of a merge as JSON, and as text for people.
#include <fmt/core.h>

#include "tools/work/merge.h"

namespace cuvmm::tools {

namespace {

std::string list(const std::vector<std::string>& texts, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < texts.size() && i < most; ++i)
    text += (i == 0 ? "" : ", ") + texts[i];
  if (texts.size() > most) text += fmt::format(" and {} more", texts.size() - most);
  return text;
}

std::string list(const std::set<std::string>& texts, std::size_t most) {
  return list(std::vector<std::string>(texts.begin(), texts.end()), most);
}

}  // namespace

std::string merged_json(const Merged& merged) {
  Json json = {{"schema", 1},
               {"tool", "cuvmm work merge"},
               {"cases", merged.cases},
               {"results", merged.results},
               {"files", merged.files},
               {"repeated", merged.repeated},
               {"statuses", merged.statuses},
               {"groups", merged.groups},
               {"missing", merged.missing}};
  json["findings"] = Json::array();
  for (const MergedFinding& each : merged.findings) {
    Json finding = {{"fingerprint", each.fingerprint},
                    {"unit", each.unit},
                    {"finding", each.what},
                    {"count", each.count},
                    {"groups", each.groups},
                    {"nodes", each.nodes}};
    if (!each.program.empty()) finding["program"] = each.program;
    json["findings"].push_back(std::move(finding));
  }
  json["outliers"] = Json::array();
  for (const Outlier& each : merged.outliers) {
    Json differences = Json::array();
    for (const auto& difference : each.differences) {
      differences.push_back({{"unit", difference.unit},
                             {"answers", difference.answers},
                             {"peers", difference.peers},
                             {"agreeing", difference.agreeing}});
    }
    json["outliers"].push_back({{"node", each.node},
                                {"group", each.group},
                                {"count", each.count},
                                {"differences", std::move(differences)}});
  }
  json["refused"] = Json::array();
  for (const Refused& each : merged.refused)
    json["refused"].push_back({{"file", each.file}, {"why", each.why}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string merged_text(const Merged& merged) {
  constexpr std::size_t kFew = 5, kLines = 20;
  std::string text =
      fmt::format("{} results of {} cases in {} files", merged.results, merged.cases, merged.files);
  if (merged.repeated) text += fmt::format(" ({} stood there twice)", merged.repeated);
  text += '\n';
  for (const auto& [group, count] : merged.groups) text += fmt::format("  {}: {}\n", group, count);
  for (const auto& [status, count] : merged.statuses)
    text += fmt::format("  {:<14} {}\n", status, count);
  std::size_t shown = 0;
  for (const MergedFinding& each : merged.findings) {
    if (++shown > kLines) break;
    text += fmt::format("finding {}: {}: {} ({} times, on {})\n", each.fingerprint, each.unit,
                        each.what, each.count, list(each.nodes, kFew));
  }
  if (merged.findings.size() > kLines)
    text += fmt::format("and {} more findings\n", merged.findings.size() - kLines);
  for (const Outlier& each : merged.outliers) {
    const auto& first = each.differences.front();
    text += fmt::format(
        "outlier {}: {} of its results differ from its peers' ({}); {}: '{}', where the usual of "
        "{} "
        "is '{}'\n",
        each.node, each.count, each.group, first.unit, list(first.answers, kFew), first.agreeing,
        list(first.peers, kFew));
  }
  if (!merged.missing.empty())
    text +=
        fmt::format("missing: {} shards: {}\n", merged.missing.size(), list(merged.missing, kFew));
  for (const Refused& each : merged.refused)
    text += fmt::format("refused {}: {}\n", each.file, each.why);
  return text;
}

}  // namespace cuvmm::tools
