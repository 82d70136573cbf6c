// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/finding_members.h"

#include <unistd.h>

#include "api/driver/driver.h"
#include "api/words.h"
#include "shim/output/json.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

void add_arguments(std::string& out, const std::vector<ArgumentText>& arguments) {
  add_key(out, "arguments");
  out += '{';
  for (const ArgumentText& argument : arguments) add_text(out, argument.name, argument.text);
  out += '}';
}

void add_frames(std::string& out, const char* key, const std::vector<Frame>& frames) {
  add_key(out, key);
  out += '[';
  for (const Frame& frame : frames) {
    if (out.back() != '[') out += ',';
    out += '{';
    add_text(out, "function", frame.function);
    add_text(out, "module", frame.module);
    add_number(out, "offset", frame.offset);
    if (!frame.file.empty()) {
      add_text(out, "file", frame.file);
      add_number(out, "line", static_cast<std::uint64_t>(frame.line));
    }
    if (frame.python()) add_text(out, "language", "python");
    if (!frame.source.empty()) add_text(out, "source", frame.source);
    out += '}';
  }
  out += ']';
}

std::string stacks_json(const std::set<StackId>& stacks) {
  prepare_symbolizer();
  std::string out = "{";
  for (const StackId stack : stacks)
    add_frames(out, std::to_string(stack).c_str(), symbolize(stack));
  return out + "}";
}

namespace {

// The text of the object at this index, "" if it has none.
std::string text_at(const std::vector<std::string>& texts, std::size_t place) {
  return place < texts.size() ? texts[place] : std::string();
}

void add_texts(std::string& out, const char* key, const std::vector<std::string>& texts) {
  add_key(out, key);
  out += '[';
  for (const std::string& text : texts) {
    if (out.back() != '[') out += ',';
    out += json_string(text);
  }
  out += ']';
}

void add_object(std::string& out, const Entry& entry, std::size_t place) {
  const ObjectRef& object = entry.finding.violation.objects[place];
  if (out.back() != '[') out += ',';
  out += '{';
  const Work* const work = object.work;
  add_text(out, "what", work ? work->what : name(object.kind));
  const bool descriptor = object.kind == ObjectRef::Kind::kExport;
  add_text(out, "value", descriptor ? std::to_string(object.value) : hex_text(object.value));
  if (object.size != 0) add_number(out, "size", object.size);
  const nvtx::KnownMemory& memory = entry.object_memory[place];
  std::string named = text_at(entry.finding.names, place);
  if (named.empty()) named = memory.name;
  if (!named.empty()) add_text(out, "name", named);
  const std::string made_in = text_at(entry.finding.made_in, place);
  if (!made_in.empty()) add_text(out, "scope", made_in);
  if (!entry.object_ranges[place].empty()) add_texts(out, "ranges", entry.object_ranges[place]);
  if (memory.region_count != 0) {
    add_texts(out, "regions", memory.regions);
    add_number(out, "region_count", memory.region_count);
  }
  if (work) {
    if (!work->function.empty()) add_text(out, "function", work->function);
    add_text(out, "stream", hex_text(work->stream));
  }
  const bool retained = object.kind == ObjectRef::Kind::kRetained;
  add_number(out, "made_by_call", retained ? 0 : object.made.call);
  if (retained) add_number(out, "retained_by_call", object.made.call);
  if (!entry.made_by[place].empty()) add_text(out, "made_by", entry.made_by[place]);
  add_frames(out, "stack", entry.object_stacks[place]);
  if (object.ended.call != 0) {
    add_number(out, "ended_by_call", object.ended.call);
    if (!entry.ended_by[place].empty()) add_text(out, "ended_by", entry.ended_by[place]);
    add_frames(out, "ended_stack", entry.ended_stacks[place]);
  }
  out += '}';
}

std::string result_text(const std::optional<Answer>& answer) {
  if (!answer) return "";
  return answer->crashed ? "crashed" : result_name(answer->result);
}

}  // namespace

std::string finding_members(const Entry& entry) {
  const Finding& finding = entry.finding;
  const RuleInfo& rule = info(finding.violation.rule);
  std::string out;
  add_text(out, "rule", rule.id);
  add_text(out, "kind", name(finding.kind()));
  // At exit there was no call: the rule names the call that is missing.
  const EntryPoint call = finding.entry == EntryPoint::kCount ? rule.entry : finding.entry;
  add_text(out, "call", call == EntryPoint::kCount ? "" : name(call));
  if (!entry.runtime.empty()) add_text(out, "runtime", entry.runtime);
  add_arguments(out, finding.arguments);
  add_text(out, "message", finding.violation.message);
  add_key(out, "documented");
  out += rule.code == CUDA_SUCCESS ? "[]" : "[" + json_string(result_name(rule.code)) + "]";
  add_text(out, "result", result_text(finding.answer));
  if (finding.answer && finding.answer->enforced) {
    add_key(out, "enforced");
    out += "true";
  }
  add_number(out, "call_index", finding.call_index);
  add_number(out, "pid", static_cast<std::uint64_t>(::getpid()));
  add_frames(out, "stack", entry.stack);
  add_key(out, "objects");
  out += '[';
  for (std::size_t i = 0; i < finding.violation.objects.size(); ++i) {
    add_object(out, entry, i);
  }
  out += ']';
  if (!finding.memory.empty()) add_text(out, "memory", finding.memory);
  if (!finding.scope.empty()) add_text(out, "scope", finding.scope);
  if (!entry.ranges.empty()) add_texts(out, "ranges", entry.ranges);
  add_text(out, "fix", fix_of(finding.violation));
  add_text(out, "url", rule_url(rule.rule));
  return out;
}

}  // namespace cuvmm::shim
