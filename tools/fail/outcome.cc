// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "api/documented_results/documented_results.h"
#include "api/symbols/find_entry.h"
#include "frames/runtime_frames.h"
#include "recorder/holdings/counted.h"

namespace cuvmm::tools {

namespace {

std::string member_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::uint64_t member_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool member_flag(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const Json& member_list(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::string file_of(const std::string& path) { return std::filesystem::path(path).filename(); }

bool is_python(const Json& frame) { return member_text(frame, "language") == "python"; }

// "cache.py:41"
std::string line_of(const Json& frame) {
  return fmt::format("{}:{}", file_of(member_text(frame, "file")), member_number(frame, "line"));
}

// "grow at cache.py:41", from the innermost Python frame; "" if there is none.
std::string python_place(const Json& stack) {
  const auto found = std::find_if(stack.begin(), stack.end(), is_python);
  return found == stack.end() ? "" : member_text(*found, "function") + " at " + line_of(*found);
}

// A text that names the place. It is the same in every run, because it has offsets in modules
// instead of addresses.
std::string place_key(const Json& stack) {
  std::string key;
  for (const Json& frame : stack) {
    const std::string module = member_text(frame, "module");
    if (!module.empty())
      key += fmt::format(" {}+{}", file_of(module), member_number(frame, "offset"));
    else if (is_python(frame))
      key += " " + line_of(frame);
  }
  return key;
}

}  // namespace

std::uint64_t Outcome::injections() const {
  std::uint64_t all = 0;
  for (const ProcessLog& log : logs) all += log.injections;
  return all;
}

std::string place_text(const Json& stack) {
  std::string python = python_place(stack);
  for (const Json& frame : stack) {
    const std::string function = member_text(frame, "function");
    const std::string file = member_text(frame, "file");
    const std::string module = file_of(member_text(frame, "module"));
    if (function.empty() && module.empty()) continue;
    frames::Frame whole;
    whole.function = function;
    whole.module = module;
    whole.file = file;
    if (frames::of_cuda_runtime(whole)) continue;
    // A native frame without a known line, between Python and CUDA, is code of a binding. The
    // user's Python line says more.
    if (!python.empty() && (file.empty() || is_python(frame))) return python;
    std::string text = function.empty()
                           ? fmt::format("{}+{:#x}", module, member_number(frame, "offset"))
                           : function;
    if (!file.empty()) text += " at " + line_of(frame);
    return python.empty() ? text : text + ", called by " + python;
  }
  return "";
}

void add_report(Outcome& outcome, const Json& report) {
  for (const Json& finding : member_list(report, "findings")) {
    const std::string kind = member_text(finding, "kind");
    const bool leak = kind == "leak";
    if (!leak && kind != "error" && kind != "undefined") continue;
    const std::string rule = member_text(finding, "rule");
    const Json& stack = member_list(finding, "stack");
    std::int64_t pid = 0;
    if (const auto found = finding.find("pid"); found != finding.end() && found->is_number()) {
      pid = found->get<std::int64_t>();
    }
    Tally& tally = (leak ? outcome.leaks[pid] : outcome.findings)[rule + place_key(stack)];
    tally.count += std::max<std::uint64_t>(member_number(finding, "count"), 1);
    const std::string place = place_text(stack);
    tally.text = rule + (place.empty() ? "" : (leak ? ", made in " : " in ") + place) + ": " +
                 member_text(finding, "message");
  }
}

void add_log(Outcome& outcome, const Json& log) {
  ProcessLog process;
  process.pid = static_cast<std::int64_t>(member_number(log, "pid"));
  process.died = member_text(log, "ended") == "signal";
  process.returned = member_flag(log, "returned");
  process.injections = member_number(log, "injections");
  process.calls_after = member_number(log, "calls_after");
  process.sites = member_list(log, "sites");
  for (const Json& one : member_list(log, "injected")) {
    const auto entry = find_entry(member_text(one, "call"));
    process.gave_up = process.gave_up || (entry && gives_up(*entry));
  }
  for (const Json& left : member_list(log, "left")) {
    const std::string what = member_text(left, "what");
    const Json& stack = member_list(left, "stack");
    Tally& tally = process.left[what + "\n" + place_key(stack)];
    tally.count += member_number(left, "count");
    process.kinds[what] += member_number(left, "count");
    const std::string place = place_text(stack);
    tally.text = counted(tally.count, what);
    const std::uint64_t bytes = member_number(left, "bytes");
    if (bytes != 0) tally.text += fmt::format(" ({} bytes)", bytes);
    if (!place.empty()) tally.text += ", made in " + place;
  }
  outcome.logs.push_back(std::move(process));
}

}  // namespace cuvmm::tools
