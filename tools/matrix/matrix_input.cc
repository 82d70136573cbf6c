// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/matrix_input.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/posix/whole_file.h"
#include "api/words.h"
#include "rulebook/profile/profile.h"
#include "tools/command_line/suggest.h"
#include "tools/matrix/matrix_case.h"
#include "tools/matrix/result_folder.h"
#include "tools/report/json_documents.h"

namespace cuvmm::tools {

namespace {

using SortedJson = nlohmann::json;  // members by name

std::string text_of(const SortedJson& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string origin_text(const SortedJson& json, int cuda, std::size_t cases) {
  std::string text;
  if (cuda) text += "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  if (const int gpus = json.value("devices", 0))
    text += (text.empty() ? "" : ", ") + count_text(gpus, "GPU");
  if (const std::string date = text_of(json, "date"); !date.empty())
    text += (text.empty() ? "" : ", ") + date.substr(0, 10);
  return text + (text.empty() ? "" : ", ") + count_text(cases, "case");
}

void read_recording(const SortedJson& json, MatrixColumn& column) {
  for (const auto& [name, outcomes] : json.at("cases").items()) take_case(column, name, outcomes);
  const SortedJson skipped = json.value("skipped", SortedJson::object());
  for (const auto& [name, reason] : skipped.items()) skip_case(column, name, reason);
}

void take_flow(MatrixColumn& column, const std::string& name, const SortedJson& statements) {
  for (const SortedJson& call : statements) column.flows[name].push_back(text_of(call, "observed"));
}

void read_results(const SortedJson& json, MatrixColumn& column) {
  for (const SortedJson& each : json.at("cases")) {
    const std::string name = each.at("name");
    const std::vector<std::string> ids = each.at("rules");
    const auto rule = ids.size() == 1 ? find_rule(ids[0]) : std::nullopt;
    if (!rule) {
      if (ids.empty()) take_flow(column, name, each.at("statements"));
      continue;
    }
    const std::string reason = text_of(each, "reason");
    // If even the legal call of a family fails, its cases show nothing about their rules.
    if (text_of(each, "status") == "not-supported" || reason.rfind("shows nothing", 0) == 0) {
      skip_rule(column, *rule, reason);
      continue;
    }
    for (const SortedJson& call : each.at("statements")) {
      if (!call.contains("breaks") || call.at("breaks").empty()) continue;
      take_answer(column, *rule, text_of(call, "observed"), name);
      break;
    }
  }
}

MatrixColumn from_profile(const Profile& profile) {
  MatrixColumn column;
  column.title = "profile " + profile.name;
  column.detail = profile.gpu == "none"
                      ? profile.source
                      : profile.gpu + ", driver " + profile.driver + ", " + profile.recorded;
  for (const RuleInfo& rule : rules()) {
    add_answer(column.cells[rule.rule],
               verdict_text(profile.verdicts[static_cast<std::size_t>(rule.rule)]),
               "profile " + profile.name);
  }
  // A profile does not name the cases that it was made from. The matrix names the cases of the
  // suite that break the same rule.
  column.detail += "; a profile names no cases: those shown are the ones that break the rule";
  for (const auto& [case_name, broken] : cases_of_one_rule()) {
    MatrixCell& cell = column.cells[broken.rule];
    add_answer(cell, MatrixCell::Answer(cell.answers[0]).text, case_name);
  }
  for (const auto& [where, verdict] : profile.entry_verdicts)
    add_answer(column.cells[where.second], verdict_text(verdict), name(where.first));
  return column;
}

}  // namespace

MatrixInput parse_matrix_json(const std::string& text, const std::string& origin) {
  MatrixInput input;
  const std::string expected =
      origin + ": expected the JSON of `cuvmm conform` or `cuvmm-record`, with \"cases\"";
  // Limits only the depth, because copies and comparisons of JSON recurse. A recording may have
  // many members.
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  const std::string excess =
      find_json_documents(text, false, {.members = kAny, .values = kAny}).excess;
  if (!excess.empty()) {
    input.error = expected + " (" + excess + ")";
    return input;
  }
  const SortedJson json = SortedJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("cases")) {
    input.error = expected;
    return input;
  }
  try {
    MatrixColumn& column = input.columns.emplace_back();
    const std::string gpu = text_of(json, "gpu");
    // The JSON of `cuvmm conform` has the facts about the driver in one object.
    const bool grouped = json.contains("driver") && json.at("driver").is_object();
    const SortedJson about = grouped ? json.at("driver") : json;
    const std::string version = text_of(about, grouped ? "version" : "driver_version");
    const std::string driver = text_of(about, grouped ? "path" : "driver");
    const int cuda_version = about.value("cuda_version", 0);
    column.title = gpu.empty() ? origin : gpu;
    // Without a kernel module, the driver is not NVIDIA's; then the library's file name is its
    // title.
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
  } catch (const SortedJson::exception& error) {
    input.error = expected + " (" + error.what() + ")";
  }
  return input;
}

MatrixInput load_matrix_input(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    MatrixInput input;
    ResultFolder folder = read_result_folder(path);
    input.error = std::move(folder.error);
    for (DriverResults& each : folder.drivers) input.columns.push_back(std::move(each.column));
    return input;
  }
  const std::vector<std::string> builtin = builtin_profiles();
  const bool is_builtin = std::find(builtin.begin(), builtin.end(), path) != builtin.end();
  if (is_builtin || (path.size() > 5 && path.substr(path.size() - 5) == ".toml")) {
    const ProfileResult loaded = load_profile(path);
    if (loaded.error.empty()) return {{from_profile(loaded.profile)}, ""};
    return {{}, loaded.error};
  }
  const WholeFile file = whole_file(path);
  if (!file.error.empty()) {
    return {{},
            path + ": " + file.error +
                ": expected a JSON file, a TOML profile, the name of a built-in "
                "profile, or a folder of `cuvmm work`" +
                did_you_mean(path, builtin)};
  }
  return parse_matrix_json(file.text, path);
}

}  // namespace cuvmm::tools
