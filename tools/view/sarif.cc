// SPDX-License-Identifier: Apache-2.0
#include "tools/view/sarif.h"

#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "rulebook/catalogue/rule.h"
#include "tools/installation/install_paths.h"
#include "tools/report/text/finding_text.h"
#include "tools/rules/rule_facts.h"
#include "tools/rules/rule_text.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
constexpr const char* kRoot = "SRCROOT";

std::string escaped_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

const char* level_of(const std::string& kind) {
  if (kind == "error" || kind == "undefined") return "error";
  return kind == "leak" ? "warning" : "note";
}

// The NVTX name, ranges and regions of an object, as properties of its place.
Json nvtx_of(const Json& object) {
  Json out = Json::object();
  if (const std::string name = text_in(object, "name"); !name.empty()) out["name"] = name;
  if (const Json& ranges = list_in(object, "ranges"); !ranges.empty()) out["nvtxRanges"] = ranges;
  if (const Json& regions = list_in(object, "regions"); !regions.empty()) {
    out["nvtxRegions"] = regions;
    out["nvtxRegionCount"] = number_in(object, "region_count");
  }
  return out;
}

Json sarif_message(const std::string& text) { return {{"text", text.empty() ? "-" : text}}; }

class SarifWriter {
 public:
  explicit SarifWriter(std::string root) : root_(std::move(root)) {}

  Json run(const Json& report) {
    Json results = Json::array();
    for (const char* list : {"findings", "absent"}) {
      for (const Json& finding : list_in(report, list)) results.push_back(result(finding));
    }
    Json notes = Json::array();
    for (const Json& note : list_in(report, "notes")) {
      if (!note.is_string()) continue;
      notes.push_back({{"level", "warning"}, {"message", sarif_message(note.get<std::string>())}});
    }
    Json invocation = {{"executionSuccessful", true}};
    if (const auto run = report.find("run"); run != report.end() && run->is_object()) {
      if (const std::string time = text_in(*run, "began"); !time.empty())
        invocation["startTimeUtc"] = time;
      if (!list_in(*run, "command").empty()) invocation["arguments"] = list_in(*run, "command");
    }
    if (!notes.empty()) invocation["toolExecutionNotifications"] = std::move(notes);
    Json tool = {{"name", "cuvmm"},
                 {"version", kVersion},
                 {"fullName", "cuvmm: checks of the CUDA driver's memory APIs"},
                 {"rules", std::move(rules_)}};
    return {{"tool", {{"driver", std::move(tool)}}},
            {"originalUriBaseIds",
             {{kRoot, {{"uri", "file://" + escaped_path(root_) + (root_ == "/" ? "" : "/")}}}}},
            {"invocations", Json::array({std::move(invocation)})},
            {"columnKind", "utf16CodeUnits"},
            {"results", std::move(results)}};
  }

 private:
  Json artifact(const std::string& file) const {
    const std::string folder = root_ == "/" ? root_ : root_ + "/";
    if (file.starts_with(folder)) {
      return {{"uri", escaped_path(file.substr(folder.size()))}, {"uriBaseId", kRoot}};
    }
    if (file.starts_with('/')) return {{"uri", "file://" + escaped_path(file)}};
    return {{"uri", escaped_path(file)}, {"uriBaseId", kRoot}};
  }

  Json location(const Json& frame) const {
    Json out = Json::object();
    const std::string file = text_in(frame, "file");
    if (!file.empty()) {
      out["physicalLocation"] = {{"artifactLocation", artifact(file)}};
      const auto line = frame.find("line");
      if (line != frame.end() && line->is_number_unsigned() && *line > 0u)
        out["physicalLocation"]["region"] = {{"startLine", *line}};
    }
    std::string function = text_in(frame, "function");
    if (function.empty()) function = "?";
    out["logicalLocations"] =
        Json::array({{{"fullyQualifiedName", function}, {"kind", "function"}}});
    return out;
  }

  Json stack(const Json& frames, const std::string& what) const {
    Json list = Json::array();
    for (const Json& frame : frames) {
      Json one = {{"location", location(frame)}};
      const std::string module = text_in(frame, "module");
      if (!module.empty()) one["module"] = module;
      list.push_back(std::move(one));
    }
    return {{"message", sarif_message(what)}, {"frames", std::move(list)}};
  }

  std::size_t rule_index(const Json& finding) {
    const std::string id = text_in(finding, "rule");
    const auto [known, fresh] = indices_.try_emplace(id, rules_.size());
    if (!fresh) return known->second;
    Json rule = {{"id", id}};
    const std::optional<Rule> here = find_rule(id);
    const std::string text = here ? info(*here).requirement : text_in(finding, "message");
    rule["shortDescription"] = sarif_message(text);
    const std::string fix = text_in(finding, "fix"), url = text_in(finding, "url");
    rule["help"] =
        sarif_message((fix.empty() ? text : fix) + "\nTo learn more, type: cuvmm explain " + id);
    // A viewer shows the rule's page itself. The page in the installation has no address on the
    // web.
    if (here) rule["help"]["markdown"] = rule_section(*here);
    const bool in_the_net = url.starts_with("http://") || url.starts_with("https://");
    if (const std::string page = here ? rule_web_page(*here) : ""; !page.empty()) {
      rule["helpUri"] = page;
    } else if (in_the_net) {
      rule["helpUri"] = url;
    }
    rule["defaultConfiguration"] = {{"level", level_of(text_in(finding, "kind"))}};
    rule["properties"] = {{"kind", text_in(finding, "kind")}};
    rules_.push_back(std::move(rule));
    return known->second;
  }

  Json result(const Json& finding) {
    const Json& stack_of = list_in(finding, "stack");
    const Json& objects = list_in(finding, "objects");
    Json out = {{"ruleId", text_in(finding, "rule")}, {"ruleIndex", rule_index(finding)}};
    out["level"] = level_of(text_in(finding, "kind"));
    out["message"] = sarif_message(text_in(finding, "call") + ": " + text_in(finding, "message"));
    out["occurrenceCount"] = number_in(finding, "count");
    out["locations"] = Json::array();
    // A finding at exit has no stack, so its place is the call that made its object.
    const Json* const site = site_of(
        stack_of.empty() && !objects.empty() ? list_in(objects.front(), "stack") : stack_of);
    if (site) out["locations"].push_back(location(*site));
    out["stacks"] = Json::array();
    if (!stack_of.empty()) out["stacks"].push_back(stack(stack_of, "the call"));
    Json related = Json::array();
    for (const Json& object : objects) add_object(object, out["stacks"], related);
    if (!related.empty()) out["relatedLocations"] = std::move(related);
    if (out["stacks"].empty()) out.erase("stacks");
    out["partialFingerprints"] = {{"cuvmmSite/v1", fingerprint(finding)}};
    if (const std::string state = text_in(finding, "baseline"); !state.empty())
      out["baselineState"] = state;
    out["properties"] = {{"call", call_text(finding)}, {"result", text_in(finding, "result")}};
    if (const Json& ranges = list_in(finding, "ranges"); !ranges.empty())
      out["properties"]["nvtxRanges"] = ranges;
    if (const auto pid = finding.find("pid"); pid != finding.end()) out["properties"]["pid"] = *pid;
    return out;
  }

  void add_object(const Json& object, Json& stacks, Json& related) {
    const std::string name = text_in(object, "name"), within = ranges_text(object);
    const std::string what = text_in(object, "what") + " " + text_in(object, "value") +
                             (name.empty() ? "" : " \"" + name + "\"");
    const auto add = [&](const char* key, const std::string& message, Json made) {
      const Json& frames = list_in(object, key);
      if (frames.empty()) return;
      stacks.push_back(stack(frames, message));
      Json one = location(*site_of(frames));
      one["id"] = related.size() + 1;
      one["message"] = sarif_message(message);
      if (!made.empty()) one["properties"] = std::move(made);
      related.push_back(std::move(one));
    };
    add("stack", what + " was made here" + (within.empty() ? "" : ", within " + within),
        nvtx_of(object));
    add("ended_stack", what + " ended here", Json::object());
  }

  const std::string root_;
  Json rules_ = Json::array();
  std::map<std::string, std::size_t> indices_;
};

}  // namespace

std::string sarif_of(const Json& report, std::string root) {
  std::error_code error;
  if (root.empty()) root = std::filesystem::current_path(error).string();
  const Json log = {{"$schema", kSchema},
                    {"version", "2.1.0"},
                    {"runs", Json::array({SarifWriter(root).run(report)})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cuvmm::tools
