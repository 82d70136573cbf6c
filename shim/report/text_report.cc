// SPDX-License-Identifier: Apache-2.0
#include "shim/report/text_report.h"

#include <algorithm>
#include <map>

#include "api/driver/driver.h"
#include "api/words.h"
#include "recorder/holdings/counted.h"

namespace cuvmm::shim {

namespace {

// "cudaIpcOpenMemHandle (cuIpcOpenMemHandle)", or only the driver's function.
std::string function_text(const Entry& entry) {
  const std::string function = name(entry.finding.entry);
  return entry.runtime.empty() ? function : entry.runtime + " (" + function + ")";
}

// "kernel f on stream 0x55 uses 0x700000000000".
std::string work_object_text(const ObjectRef& object) {
  const Work& work = *object.work;
  std::string text = work.what;
  if (!work.function.empty()) text += " " + work.function;
  return text + " on stream " + hex_text(work.stream) + " uses " + hex_text(object.value);
}

std::string answer_text(const Finding& finding, const RuleInfo& rule) {
  const Answer& answer = *finding.answer;
  if (answer.enforced) {
    return "answered " + result_name(answer.result) + " without asking the driver (enforce)";
  }
  const auto& objects = finding.violation.objects;
  return cuvmm::answer_text(rule, answer.crashed ? "crashed" : result_name(answer.result),
                            !objects.empty() && objects.front().work);
}

std::string ranges_text(const std::vector<std::string>& ranges) {
  std::string text;
  for (const std::string& range : ranges) text += (text.empty() ? "" : " / ") + range;
  return text;
}

// Printed always, because some users have no copy of the documentation.
std::string more_text(const RuleInfo& rule) {
  return std::string("    more: cuvmm explain ") + rule.id + "\n";
}

// The makers of the objects that the call names: advice is often about a library's call, and the
// maker is often the program itself.
std::string makers_text(const Entry& entry) {
  std::string text;
  for (std::size_t i = 0; i < entry.finding.violation.objects.size(); ++i) {
    const ObjectRef& object = entry.finding.violation.objects[i];
    if (object.work || entry.object_stacks[i].empty()) continue;
    text += std::string("    ") + name(object.kind) + " " + hex_text(object.value) + ", " +
            how(object) + " at " + place_text(entry.object_stacks[i]) + "\n";
  }
  return text;
}

// The regions that an allocator of the program has returned from the memory.
std::string regions_text(const nvtx::KnownMemory& memory) {
  std::string text = "      in it: ";
  for (std::size_t i = 0; i < memory.regions.size(); ++i)
    text += (i ? "; " : "") + memory.regions[i];
  const std::uint64_t more = memory.region_count - memory.regions.size();
  if (more != 0) text += "; and " + std::to_string(more) + " more";
  return text + " (by NVTX)\n";
}

std::string object_text(const Entry& entry, std::size_t place) {
  const ObjectRef& object = entry.finding.violation.objects[place];
  const auto& names = entry.finding.names;
  const auto& scopes = entry.finding.made_in;
  std::string text = "    ";
  if (object.work) {
    text += work_object_text(object);
  } else {
    text += name(object.kind);
    text += object.kind == ObjectRef::Kind::kExport
                ? " of descriptor " + std::to_string(object.value)
                : " " + hex_text(object.value);
  }
  const nvtx::KnownMemory& memory = entry.object_memory[place];
  const std::string& named =
      place < names.size() && !names[place].empty() ? names[place] : memory.name;
  if (!named.empty()) text += " \"" + named + "\"";
  if (object.size != 0) text += " (" + size_text(object.size) + ")";
  if (object.made.call != 0)
    text += std::string(", ") + how(object) + by_text(object.made.call, entry.made_by[place]);
  else if (object.made.stack != 0)
    text += ", made" + by_text(0, entry.made_by[place]);  // the call has no number
  else if (!object.work && object.ended.call == 0)  // of an ended object, only the end is known
    text += ", made by a call that cuvmm did not see";
  const bool elsewhere =
      place < scopes.size() && !scopes[place].empty() && scopes[place] != entry.finding.scope;
  if (elsewhere) text += " in " + scopes[place];
  if (!entry.object_ranges[place].empty())
    text += " within " + ranges_text(entry.object_ranges[place]);
  text += "\n" + stack_text(entry.object_stacks[place], "      ");
  if (memory.region_count != 0) text += regions_text(memory);
  if (object.ended.call != 0) {
    text += "    ended" + by_text(object.ended.call, entry.ended_by[place]) + "\n";
    text += stack_text(entry.ended_stacks[place], "      ");
  }
  return text;
}

}  // namespace

std::string finding_text(const Entry& entry, bool again) {
  const Finding& finding = entry.finding;
  const RuleInfo& rule = info(finding.violation.rule);
  const bool at_exit = finding.entry == EntryPoint::kCount;
  std::string text = std::string("cuvmm: ") + name(finding.kind()) + ": ";
  if (!at_exit) text += function_text(entry) + ": ";
  text += finding.violation.message + " [" + rule.id + "]\n";
  if (at_exit && finding.call_index != 0) {
    text += stack_text(entry.stack, "      ");  // for a function that is not the driver's
  } else if (!at_exit) {
    text += "    call " + std::to_string(finding.call_index) + ": " +
            call_text(finding.entry, finding.arguments) + "\n";
    text += stack_text(entry.stack, "      ");
  }
  // (A finding that is made at exit has the ranges of the object's maker.)
  if (!entry.ranges.empty() && !at_exit) text += "    within " + ranges_text(entry.ranges) + "\n";
  if (finding.answer) text += "    " + answer_text(finding, rule) + "\n";
  for (std::size_t i = 0; i < finding.violation.objects.size(); ++i) {
    text += object_text(entry, i);
  }
  if (!finding.scope.empty()) text += "    in: " + finding.scope + "\n";
  if (!again) text += std::string("    rule: ") + rule.requirement + "\n";
  if (!again || !finding.violation.fix.empty()) {
    text += "    fix: " + fix_of(finding.violation) + "\n";
  }
  return text + more_text(rule);
}

std::string advice_text(const Ledger& ledger) {
  struct RuleSummary {
    const Entry* first = nullptr;
    std::uint64_t count = 0;
  };
  std::map<Rule, RuleSummary> rules;
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    const std::uint64_t handled = entry->handled.load(), count = entry->count.load();
    if (!entry->ready() || !entry->finding.probe() || handled >= count) continue;
    RuleSummary& summary = rules[entry->finding.violation.rule];
    if (!summary.first) summary.first = entry;
    summary.count += count - handled;
  }
  std::string text;
  for (const auto& [rule, summary] : rules) {
    const Finding& finding = summary.first->finding;
    text += "cuvmm: advice: " + function_text(*summary.first) + ": " + finding.violation.message +
            " [" + info(rule).id + "]; " + result_name(finding.answer->result);
    if (summary.count > 1) text += ", " + std::to_string(summary.count) + " times";
    if (!summary.first->stack.empty()) text += ", at " + place_text(summary.first->stack);
    text += "\n" + makers_text(*summary.first) + "    fix: " + info(rule).fix + "\n" +
            more_text(info(rule));
  }
  return text;
}

std::string repeats_text(const Ledger& ledger) {
  std::string text;
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    const std::uint64_t count = entry->count.load();
    if (count == 1 || entry->quiet || entry->finding.violation.count == count) continue;
    text += "cuvmm: " + std::to_string(count) + " times: " + info(entry->finding.violation.rule).id;
    if (!entry->stack.empty()) text += " at " + place_text(entry->stack);
    text += '\n';
  }
  return text;
}

std::string summary_text(const Ledger& ledger, const SummaryFacts& facts) {
  const Totals totals = ledger.totals();
  std::string text = "cuvmm: " + count_text(facts.calls, "call") + " checked: ";
  if (totals.any()) {
    text += count_text(totals.errors, "error") + ", " + std::to_string(totals.undefined) +
            " undefined, " + count_text(totals.leaks, "leak");
  } else {
    text += "no findings";
  }
  if (ledger.lost() != 0) {
    text += " (" + std::to_string(ledger.lost()) +
            " of them without a text: another thread kept the list of findings)";
  }
  if (ledger.suppressed() != 0) text += ", " + std::to_string(ledger.suppressed()) + " suppressed";
  text += '\n';
  if (!facts.in_use.empty()) text += "cuvmm: " + facts.in_use + "\n";
  return text;
}

}  // namespace cuvmm::shim
