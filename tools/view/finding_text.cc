// SPDX-License-Identifier: Apache-2.0
#include "tools/view/finding_text.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

#include "api/fnv1a.h"
#include "live/frames/interleave.h"
#include "tools/view/text/function_name.h"

namespace cuvmm::tools {

namespace {

// Debug information of Python itself is no place of the program's.
bool of_interpreter(const Json& frame) {
  live::Frame native;
  native.module = text_in(frame, "module");
  return live::of_interpreter(native);
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string joined(const Json& texts, const char* between) {
  std::string all;
  for (const Json& text : texts) {
    if (text.is_string()) all += (all.empty() ? "" : between) + text.get<std::string>();
  }
  return all;
}

std::string stack_text(const Json& stack, const char* indent) {
  std::string text;
  std::size_t number = 0;
  for (const Json& frame : stack)
    text += fmt::format("{}#{} {}\n", indent, number++, frame_text(frame));
  return text;
}

void add_text(Fnv1a& hash, std::string_view text) {
  hash.add(text);
  hash.add(std::uint64_t{0xff});  // no byte of UTF-8
}

}  // namespace

const Json& list_in(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

std::uint64_t number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  // A report that was not read from a file has signed ones too.
  const bool negative = !found->is_number_unsigned() && found->get<std::int64_t>() < 0;
  return negative ? 0 : found->get<std::uint64_t>();
}

std::string ranges_text(const Json& object) { return joined(list_in(object, "ranges"), " / "); }

std::string regions_text(const Json& object) {
  const Json& regions = list_in(object, "regions");
  if (regions.empty()) return "";
  std::string text = joined(regions, "; ");
  const std::uint64_t all = number_in(object, "region_count");
  if (all > regions.size()) text += fmt::format("; and {} more", all - regions.size());
  return text;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_mistake(const Json& finding) {
  const std::string kind = text_in(finding, "kind");
  return kind == "error" || kind == "undefined" || kind == "leak";
}

std::string call_text(const Json& finding) {
  std::string text = text_in(finding, "call") + "(";
  const auto arguments = finding.find("arguments");
  if (arguments == finding.end() || !arguments->is_object()) return text + ")";
  bool first = true;
  for (const auto& [name, value] : arguments->items()) {
    if (!value.is_string()) continue;
    text += (first ? "" : ", ") + name + "=" + value.get<std::string>();
    first = false;
  }
  return text + ")";
}

std::string frame_text(const Json& frame) {
  const std::string function = text_in(frame, "function"), file = text_in(frame, "file");
  std::string text = function.empty() ? "?" : brief_function(function);
  if (!file.empty()) text += fmt::format(" at {}:{}", file, number_in(frame, "line"));
  const std::string module = file_name(text_in(frame, "module"));
  if (!module.empty() && text_in(frame, "language").empty()) {
    text += fmt::format(" ({}+{:#x})", module, number_in(frame, "offset"));
  }
  return text;
}

const Json* site_of(const Json& stack) {
  if (!stack.is_array() || stack.empty()) return nullptr;
  for (const Json& frame : stack) {
    if (!text_in(frame, "file").empty() && !of_interpreter(frame)) return &frame;
  }
  return &stack.front();
}

const Json* python_site_of(const Json& stack) {
  if (!stack.is_array()) return nullptr;
  for (const Json& frame : stack) {
    if (!text_in(frame, "language").empty()) return &frame;
  }
  return nullptr;
}

std::string fingerprint(const Json& finding) {
  Fnv1a hash;
  add_text(hash, text_in(finding, "rule"));
  add_text(hash, text_in(finding, "call"));
  constexpr std::size_t kFrames = 12;
  std::size_t taken = 0;
  const Json* stack = &list_in(finding, "stack");
  // What is found at exit has no stack: who made the object tells it from others.
  if (stack->empty()) {
    const Json& objects = list_in(finding, "objects");
    if (!objects.empty()) stack = &list_in(objects.front(), "stack");
  }
  for (const Json& frame : *stack) {
    if (taken++ == kFrames) break;
    const std::string function = text_in(frame, "function");
    add_text(hash, function.empty() ? file_name(text_in(frame, "module")) : function);
  }
  return fmt::format("{:016x}", hash.value());
}

std::string finding_text(const Json& finding) {
  std::string text =
      fmt::format("{}: {}: {} [{}]\n", text_in(finding, "kind"), text_in(finding, "call"),
                  text_in(finding, "message"), text_in(finding, "rule"));
  if (const std::uint64_t call = number_in(finding, "call_index"); call != 0)
    text += fmt::format("    call {}: {}\n", call, call_text(finding));
  text += stack_text(list_in(finding, "stack"), "      ");
  if (const std::string within = ranges_text(finding); !within.empty())
    text += "    within " + within + "\n";
  if (const std::string result = text_in(finding, "result"); !result.empty()) {
    std::string documented;
    for (const Json& code : list_in(finding, "documented")) {
      if (code.is_string()) documented += "; documented: " + code.get<std::string>();
    }
    text += fmt::format("    the driver answered {}{}\n", result, documented);
  }
  if (const std::uint64_t count = number_in(finding, "count"); count > 1)
    text += fmt::format("    {} times\n", count);
  for (const Json& object : list_in(finding, "objects")) {
    text += fmt::format("    {} {}", text_in(object, "what"), text_in(object, "value"));
    if (const std::string name = text_in(object, "name"); !name.empty())
      text += fmt::format(" \"{}\"", name);
    if (const auto size = number_in(object, "size")) text += fmt::format(" ({} bytes)", size);
    if (const auto made = number_in(object, "made_by_call"))
      text += fmt::format(", made by call {}", made);
    if (const std::string within = ranges_text(object); !within.empty())
      text += " within " + within;
    if (const auto ended = number_in(object, "ended_by_call"))
      text += fmt::format(", ended by call {}", ended);
    text += '\n';
    if (const std::string inside = regions_text(object); !inside.empty())
      text += "      in it: " + inside + " (by NVTX)\n";
    text += stack_text(list_in(object, "stack"), "      ");
  }
  if (const std::string fix = text_in(finding, "fix"); !fix.empty())
    text += "    fix: " + fix + "\n";
  if (const std::string url = text_in(finding, "url"); !url.empty())
    text += "    see " + url + "\n";
  return text;
}

}  // namespace cuvmm::tools
