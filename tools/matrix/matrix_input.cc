// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/matrix_input.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/driver.h"
#include "api/words.h"
#include "conformance/suite/case.h"
#include "rulebook/profile/profile.h"
#include "tools/report/json_documents.h"
#include "tools/rules/rule_examples.h"

namespace cuvmm::tools {

using program::Statement;

using conformance::Case;
using conformance::parse_cases;

namespace {

using Json = nlohmann::json;

// What a matrix says of an outcome's text; "" for one that is no answer ("not-run: ...").
std::string answer_of(const std::string& outcome) {
  if (outcome.rfind("signal:", 0) == 0 || outcome.rfind("exit:", 0) == 0) return "crashes";
  if (outcome.rfind("timeout", 0) == 0) return "hangs";
  const std::string code = outcome.substr(0, outcome.find(' '));
  if (!result_from_name(code)) return "";
  return code == "CUDA_SUCCESS" ? "accepts" : code;
}

// Rules by hand-written case: those whose cases break one rule, and the statement that does.
struct Broken {
  Rule rule;
  std::size_t statement;
};
const std::map<std::string, Broken>& hand_written() {
  static const std::map<std::string, Broken> table = [] {
    std::map<std::string, Broken> out;
    for (const char* text : kCaseTexts) {
      for (const Case& each : parse_cases(text, "").cases) {
        if (each.breaks.size() != 1) continue;
        const auto& statements = each.program.statements;
        const auto at = std::find_if(statements.begin(), statements.end(),
                                     [](const Statement& s) { return !s.breaks.empty(); });
        const auto rule = find_rule(each.breaks[0]);
        if (at == statements.end() || !rule) continue;
        out.emplace(each.name, Broken{*rule, static_cast<std::size_t>(at - statements.begin())});
      }
    }
    return out;
  }();
  return table;
}

// The rule of a family's single, whose name is made of it: "cuMemMap-size/size-granularity~2"
// breaks cuMemMap-size-granularity, "cuMemsetD8/data-mapped" data-mapped. A pair ("+") shows which
// of two rules is checked first, not what a driver does about either.
std::optional<Rule> rule_of_single(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.find('+') != std::string::npos) return std::nullopt;
  const std::string function = name.substr(0, name.find_first_of("-/"));
  std::string what = name.substr(slash + 1);
  what = what.substr(0, what.find('~'));
  if (const auto rule = find_rule(function + "-" + what)) return rule;
  return find_rule(what);
}

void add(MatrixColumn& column, Rule rule, const std::string& outcome, const std::string& name) {
  if (const std::string answer = answer_of(outcome); !answer.empty())
    add_answer(column.cells[rule], answer, name);
}

void skip(MatrixColumn& column, Rule rule, const std::string& reason) {
  std::string& known = column.cells[rule].reason;
  if (known.empty()) known = reason.empty() ? "not supported" : reason;
}

std::string text_of(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string origin_text(const Json& json, int cuda, std::size_t cases) {
  std::string text;
  if (cuda) text += "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  if (const int gpus = json.value("devices", 0))
    text += (text.empty() ? "" : ", ") + count_text(gpus, "GPU");
  if (const std::string date = text_of(json, "date"); !date.empty())
    text += (text.empty() ? "" : ", ") + date.substr(0, 10);
  return text + (text.empty() ? "" : ", ") + count_text(cases, "case");
}

void read_recording(const Json& json, MatrixColumn& column) {
  for (const auto& [name, outcomes] : json.at("cases").items()) {
    if (outcomes.empty()) continue;
    if (const auto known = hand_written().find(name); known != hand_written().end()) {
      if (known->second.statement < outcomes.size())
        add(column, known->second.rule, outcomes[known->second.statement], name);
    } else if (const auto rule = rule_of_single(name)) {
      // A process that died before the call in question leaves "not-run" there.
      add(column, *rule, outcomes.back(), name);
    }
  }
  const Json skipped = json.value("skipped", Json::object());
  for (const auto& [name, reason] : skipped.items()) {
    const auto known = hand_written().find(name);
    const auto rule =
        known == hand_written().end() ? rule_of_single(name) : std::optional(known->second.rule);
    if (rule) skip(column, *rule, reason);
  }
}

void read_results(const Json& json, MatrixColumn& column) {
  for (const Json& each : json.at("cases")) {
    const std::string name = each.at("name");
    const std::vector<std::string> ids = each.at("rules");
    const auto rule = ids.size() == 1 ? find_rule(ids[0]) : std::nullopt;
    if (!rule) continue;
    const std::string reason = text_of(each, "reason");
    // A case whose family does not even do the legal call says nothing of its rule.
    if (text_of(each, "status") == "not-supported" || reason.rfind("shows nothing", 0) == 0) {
      skip(column, *rule, reason);
      continue;
    }
    for (const Json& call : each.at("statements")) {
      if (!call.contains("breaks") || call.at("breaks").empty()) continue;
      add(column, *rule, text_of(call, "observed"), name);
      break;
    }
  }
}

MatrixInput from_profile(const Profile& profile) {
  MatrixInput input;
  MatrixColumn& column = input.column;
  column.title = "profile " + profile.name;
  column.detail = profile.gpu == "none"
                      ? profile.source
                      : profile.gpu + ", driver " + profile.driver + ", " + profile.recorded;
  for (const RuleInfo& rule : rules()) {
    add_answer(column.cells[rule.rule],
               verdict_text(profile.verdicts[static_cast<std::size_t>(rule.rule)]),
               "profile " + profile.name);
  }
  // A profile has lost its cases: name those of the suite that ask the same.
  column.detail += "; a profile names no cases: those shown are the ones that break the rule";
  for (const auto& [case_name, broken] : hand_written()) {
    MatrixCell& cell = column.cells[broken.rule];
    add_answer(cell, MatrixCell::Answer(cell.answers[0]).text, case_name);
  }
  for (const auto& [where, verdict] : profile.entry_verdicts)
    add_answer(column.cells[where.second], verdict_text(verdict), name(where.first));
  return input;
}

}  // namespace

MatrixInput parse_matrix_json(const std::string& text, const std::string& origin) {
  MatrixInput input;
  const std::string expected =
      origin + ": expected the JSON of `cuvmm conform` or `cuvmm-record`, with \"cases\"";
  // Copies and comparisons of JSON recurse. A recording has many members, but few levels.
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  const std::string excess =
      find_json_documents(text, false, {.members = kAny, .values = kAny}).excess;
  if (!excess.empty()) {
    input.error = expected + " (" + excess + ")";
    return input;
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("cases")) {
    input.error = expected;
    return input;
  }
  try {
    MatrixColumn& column = input.column;
    const std::string gpu = text_of(json, "gpu");
    // `cuvmm conform` keeps what it knows of the driver in one object.
    const bool grouped = json.contains("driver") && json.at("driver").is_object();
    const Json about = grouped ? json.at("driver") : json;
    const std::string version = text_of(about, grouped ? "version" : "driver_version");
    const std::string driver = text_of(about, grouped ? "path" : "driver");
    const int cuda_version = about.value("cuda_version", 0);
    column.title = gpu.empty() ? origin : gpu;
    // Without a kernel module it is no NVIDIA driver: the library's path says which.
    const std::string library = driver.substr(driver.rfind('/') + 1);
    if (grouped && about.value("emulated", false)) {
      column.title = "emulator as " + (gpu == "none" ? "documented" : gpu);
    } else if (!version.empty()) {
      column.title += ", driver " + version;
    } else if (!library.empty()) {
      column.title += ", " + library;
    }
    if (!gpu.empty() && !version.empty()) column.merges = gpu + "\n" + version;
    column.detail = origin_text(json, cuda_version, json.at("cases").size());
    json.at("cases").is_object() ? read_recording(json, column) : read_results(json, column);
    if (column.cells.empty())
      input.error = origin + ": no case in it breaks exactly one known rule";
  } catch (const Json::exception& error) {
    input.error = expected + " (" + error.what() + ")";
  }
  return input;
}

MatrixInput load_matrix_input(const std::string& path) {
  const std::vector<std::string> builtin = builtin_profiles();
  const bool is_builtin = std::find(builtin.begin(), builtin.end(), path) != builtin.end();
  if (is_builtin || (path.size() > 5 && path.substr(path.size() - 5) == ".toml")) {
    const ProfileResult loaded = load_profile(path);
    if (loaded.error.empty()) return from_profile(loaded.profile);
    return {{}, loaded.error};
  }
  std::ifstream in(path);
  if (!in) {
    return {{},
            path +
                ": cannot be read: expected a JSON file, a TOML profile, or the name of a "
                "built-in profile"};
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse_matrix_json(text.str(), path);
}

}  // namespace cuvmm::tools
