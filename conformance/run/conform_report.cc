// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/conform_report.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/run/xml_text.h"

namespace cuvmm::conformance {

namespace {

std::string evidence(const CaseResult& result) {
  std::string text;
  for (const StatementResult& row : result.statements) {
    text += row.call + "  -> " + row.observed;
    if (!row.as_expected) text += ", expected " + row.expected;
    for (const std::string& rule : row.breaks) text += " !" + rule;
    text += '\n';
  }
  return text;
}

std::string group_of(const CaseResult& result) {
  return result.test_case->name.substr(0, result.test_case->name.find('/'));
}

bool skipped(const CaseResult& result) {
  return result.status == CaseStatus::kNotSupported || result.status == CaseStatus::kWaived;
}

}  // namespace

bool fails_run(const CaseResult& result, bool strict) {
  switch (result.status) {
    case CaseStatus::kFail:
      return true;
    case CaseStatus::kCrash:
    case CaseStatus::kTimeout:
      return strict || result.legal;
    case CaseStatus::kDeviation:
      return strict;
    default:
      return false;
  }
}

std::string conform_json(const Recording& recording, const std::vector<CaseResult>& results) {
  using Json = nlohmann::ordered_json;
  Json counts = Json::object();
  const auto numbers = count(results);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    counts[name(static_cast<CaseStatus>(i))] = numbers[i];
  const Json head = {{"schema", 1},
                     {"tool", "cuvmm conform"},
                     {"driver",
                      {{"path", recording.driver},
                       {"version", recording.driver_version},
                       {"cuda_version", recording.cuda_version},
                       {"emulated", recording.emulated}}},
                     {"gpu", recording.gpu},
                     {"devices", recording.devices},
                     {"date", recording.date},
                     {"counts", counts}};
  std::string text = head.dump(1, ' ', false, Json::error_handler_t::replace);
  text.erase(text.size() - 2);  // "\n}"
  text += ",\n \"cases\": [";
  const char* separator = "\n";
  for (const CaseResult& result : results) {
    Json one = {{"name", result.test_case->name}, {"rules", result.test_case->breaks},
                {"status", name(result.status)},  {"known", result.known},
                {"legal", result.legal},          {"reason", result.reason}};
    if (!result.waiver.empty()) one["waiver"] = result.waiver;
    if (result.unexpected_pass) one["unexpected_pass"] = true;
    one["program"] = print(result.test_case->program);
    Json rows = Json::array();
    for (const StatementResult& row : result.statements) {
      rows.push_back({{"call", row.call},
                      {"expected", row.expected},
                      {"observed", row.observed},
                      {"breaks", row.breaks},
                      {"ok", row.as_expected}});
    }
    one["statements"] = std::move(rows);
    // One line per case, so that diff can compare two runs.
    text += separator + one.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

std::string conform_junit(const Recording& recording, const std::vector<CaseResult>& results,
                          bool strict) {
  std::map<std::string, std::vector<const CaseResult*>> groups;
  for (const CaseResult& result : results) groups[group_of(result)].push_back(&result);
  const auto totals = [&](const std::vector<const CaseResult*>& list) {
    int failures = 0, skips = 0;
    for (const CaseResult* each : list) {
      failures += fails_run(*each, strict);
      skips += skipped(*each);
    }
    return " tests=\"" + std::to_string(list.size()) + "\" failures=\"" + std::to_string(failures) +
           "\" errors=\"0\" skipped=\"" + std::to_string(skips) + "\"";
  };
  std::vector<const CaseResult*> all;
  for (const CaseResult& result : results) all.push_back(&result);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"" +
                    xml_text("cuvmm conform " + recording.gpu) + "\"" + totals(all) + ">\n";
  for (const auto& [group, list] : groups) {
    out += "  <testsuite name=\"" + xml_text(group) + "\"" + totals(list) + " timestamp=\"" +
           xml_text(recording.date) + "\">\n";
    for (const CaseResult* each : list) {
      out += "    <testcase classname=\"" + xml_text(group) + "\" name=\"" +
             xml_text(each->test_case->name) + "\"";
      const std::string body = each->reason + "\n" + evidence(*each);
      if (fails_run(*each, strict)) {
        out += ">\n      <failure type=\"" + std::string(name(each->status)) + "\" message=\"" +
               xml_text(each->reason) + "\">" + xml_text(body) + "</failure>\n    </testcase>\n";
      } else if (skipped(*each)) {
        const std::string why = each->status == CaseStatus::kWaived ? each->waiver : each->reason;
        out += ">\n      <skipped message=\"" + xml_text(why) + "\"/>\n    </testcase>\n";
      } else if (each->status != CaseStatus::kPass) {
        out += ">\n      <system-out>" + xml_text(std::string(name(each->status)) + ": " + body) +
               "</system-out>\n    </testcase>\n";
      } else {
        out += "/>\n";
      }
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace cuvmm::conformance
