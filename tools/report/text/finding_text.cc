// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/finding_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string_view>

#include "api/fnv1a.h"
#include "api/words.h"
#include "frames/interleave.h"
#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "recorder/holdings/counted.h"
#include "rulebook/catalogue/rule.h"
#include "tools/report/text/function_name.h"

namespace cuvmm::tools {

namespace {

std::string joined(const Json& texts, const char* between) {
  std::string all;
  for (const Json& text : texts) {
    if (text.is_string()) all += (all.empty() ? "" : between) + text.get<std::string>();
  }
  return all;
}

frames::Frame frame_of(const Json& frame) {
  frames::Frame result{text_in(frame, "function"), text_in(frame, "module"),
                       number_in(frame, "offset"), text_in(frame, "file"), 0};
  result.line = static_cast<int>(std::min<std::uint64_t>(number_in(frame, "line"), INT_MAX));
  if (text_in(frame, "language") == "python") result.language = frames::Language::kPython;
  result.source = text_in(frame, "source");
  return result;
}

std::string stack_text(const Json& object, const char* key) {
  return frames::stack_text(frames_in(object, key), "      ");
}

// "cudaIpcOpenMemHandle (cuIpcOpenMemHandle)", or only the driver's function.
std::string function_text(const Json& finding) {
  const std::string function = text_in(finding, "call"), runtime = text_in(finding, "runtime");
  return runtime.empty() ? function : runtime + " (" + function + ")";
}

// "reservation 0x7f..", "export of descriptor 5", "fill on stream 0x20 uses 0x7f..".
std::string what_text(const Json& object) {
  const std::string what = text_in(object, "what"), value = text_in(object, "value");
  const std::string stream = text_in(object, "stream"), function = text_in(object, "function");
  if (!stream.empty()) {
    const std::string of = function.empty() ? "" : " " + function;
    return what + of + " on stream " + stream + " uses " + value;
  }
  return what + (what == "export" ? " of descriptor " : " ") + value;
}

std::string made_text(const Json& object) {
  if (!object.contains("made_by_call")) return "";
  const std::uint64_t made = number_in(object, "made_by_call");
  if (object.contains("stream")) return made == 0 ? "" : fmt::format(", queued by call {}", made);
  const std::string function = text_in(object, "made_by");
  if (const auto retained = number_in(object, "retained_by_call"))
    return ", retained" + by_text(retained, function);
  if (made != 0 || !function.empty()) return ", made" + by_text(made, function);
  return object.contains("ended_by_call") ? "" : ", made by a call that cuvmm did not see";
}

std::string object_text(const Json& object, const std::string& scope_of_finding) {
  std::string text = "    " + what_text(object);
  if (const std::string name = text_in(object, "name"); !name.empty()) text += " \"" + name + "\"";
  if (const auto pid = number_in(object, "pid")) text += fmt::format(" of process {}", pid);
  if (const auto size = number_in(object, "size")) text += " (" + size_text(size) + ")";
  text += made_text(object);
  const std::string scope = text_in(object, "scope");
  if (!scope.empty() && scope != scope_of_finding) text += " in " + scope;
  if (const std::string within = ranges_text(object); !within.empty()) text += " within " + within;
  text += '\n' + stack_text(object, "stack");
  if (const std::string inside = regions_text(object); !inside.empty())
    text += "      in it: " + inside + " (by NVTX)\n";
  if (const auto ended = number_in(object, "ended_by_call"))
    text += "    ended" + by_text(ended, text_in(object, "ended_by")) + "\n" +
            stack_text(object, "ended_stack");
  return text;
}

std::string answer_text(const Json& finding, const RuleInfo* rule) {
  const std::string result = text_in(finding, "result");
  if (finding.value("enforced", Json()) == true)
    return "answered " + result + " without asking the driver (enforce)";
  const Json& objects = list_in(finding, "objects");
  // A newer cuvmm may have written the report, with a rule that this version lacks.
  if (!rule) return "the driver answered " + result;
  return cuvmm::answer_text(*rule, result, !objects.empty() && objects.front().contains("stream"));
}

void add_text(Fnv1a& hash, std::string_view text) {
  hash.add(text);
  hash.add(std::uint64_t{0xff});  // ends the text, because UTF-8 has no such byte
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
  // Numbers read from a file are unsigned unless negative; a Json made in memory may be signed.
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

std::string harmless(std::string text) {
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = '?';
  }
  return text;
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
  frames::Frame brief = frame_of(frame);
  brief.function = brief_function(brief.function);
  return frames::frame_text(brief);
}

std::vector<frames::Frame> frames_in(const Json& object, const char* key) {
  std::vector<frames::Frame> frames;
  for (const Json& frame : list_in(object, key)) frames.push_back(frame_of(frame));
  return frames;
}

const Json* site_of(const Json& stack) {
  if (!stack.is_array() || stack.empty()) return nullptr;
  for (const Json& frame : stack) {
    // A source line of Python's interpreter or of a CUDA runtime is no place in the program.
    const frames::Frame one = frame_of(frame);
    if (!one.file.empty() && !frames::of_interpreter(one) && !frames::of_cuda_runtime(one))
      return &frame;
  }
  for (const Json& frame : stack) {
    if (!frames::of_cuda_runtime(frame_of(frame))) return &frame;
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
  // A finding at exit has no stack of its own, so the stack that made its object stands for it.
  if (stack->empty()) {
    const Json& objects = list_in(finding, "objects");
    if (!objects.empty()) stack = &list_in(objects.front(), "stack");
  }
  for (const Json& frame : *stack) {
    if (taken++ == kFrames) break;
    const std::string function = text_in(frame, "function");
    add_text(hash, function.empty() ? std::string(frames::file_name(text_in(frame, "module")))
                                    : function);
  }
  return fmt::format("{:016x}", hash.value());
}

std::string finding_text(const Json& finding) {
  const auto id = find_rule(text_in(finding, "rule"));
  const RuleInfo* const rule = id ? &info(*id) : nullptr;
  const bool at_exit = text_in(finding, "result").empty();
  std::string text = text_in(finding, "kind") + ": ";
  if (!at_exit) text += function_text(finding) + ": ";
  text += text_in(finding, "message") + " [" + text_in(finding, "rule") + "]\n";
  const std::uint64_t call = number_in(finding, "call_index");
  if (call != 0 && !at_exit) text += fmt::format("    call {}: {}\n", call, call_text(finding));
  // A finding at exit has no call; its stack is shown with the object that it is about. A finding
  // about close() has a call, although it has no result.
  if (call != 0) text += stack_text(finding, "stack");
  if (const std::string within = ranges_text(finding); !within.empty() && !at_exit)
    text += "    within " + within + "\n";
  if (!at_exit) text += "    " + answer_text(finding, rule) + "\n";
  if (const std::uint64_t count = number_in(finding, "count"); count > 1)
    text += fmt::format("    {} times\n", count);
  const std::string scope = text_in(finding, "scope");
  for (const Json& object : list_in(finding, "objects")) text += object_text(object, scope);
  if (!scope.empty()) text += "    in: " + scope + "\n";
  if (rule) text += std::string("    rule: ") + rule->requirement + "\n";
  if (const std::string fix = text_in(finding, "fix"); !fix.empty())
    text += "    fix: " + fix + "\n";
  if (rule) {
    text += std::string("    more: cuvmm explain ") + rule->id + "\n";
  } else if (const std::string url = text_in(finding, "url"); !url.empty()) {
    text += "    see " + url + "\n";
  }
  return harmless(text);
}

}  // namespace cuvmm::tools
