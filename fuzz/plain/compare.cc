// SPDX-License-Identifier: Apache-2.0
// A recording of plain memory held against another driver.
#include <algorithm>
#include <map>

#include "fuzz/plain/record.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kOthers = 8;

// The same numbers behind other names, places and values are one kind of difference.
std::string kind_of(const Op& op, const Step& here, const Answer& there) {
  std::string out = function_name(op);
  if (op.code == Code::kAttribute || op.code == Code::kSetAttribute) {
    out += " " + std::to_string(pick(kAttributes, op.which));
    if (op.code == Code::kAttribute && op.form % 4 == 3) out += " width";
  }
  if (op.code == Code::kAttributes) {
    const std::uint8_t shown[] = {op.which, op.value, op.flags};
    out += " " + std::to_string(pick(kAttributes, shown[op.form % 3]));
    if (op.form & 64) out += " width";
  }
  if (op.code == Code::kPoolAttribute || op.code == Code::kPoolSetAttribute) {
    out += " " + std::to_string(pick(kPoolAttributes, op.which));
  }
  out += std::string(" (") + kind_name(here.kind);
  if (here.kind2 != Kind::kNone) out += std::string(" <- ") + kind_name(here.kind2);
  if (here.dead) out += ", freed";
  if (here.outside) out += ", outside";
  out += "): recorded ";
  // Digests are many, and so are the names of blocks.
  const auto add = [&](const Answer& answer, const Answer& other) {
    Answer shortened = answer;
    const bool data = is_data(op.code);
    if (data && answer.result != other.result) shortened.value = 0;
    if (data && shortened.value) shortened.value = 1;
    if (answer.value >> 31) shortened.value &= 0xffffff;
    out += answer_text(shortened) + (answer.value >> 31 && !data ? " (in it)" : "");
  };
  add(there, here.answer);
  out += ", here ";
  add(here.answer, there);
  return out;
}

bool same(const Answer& there, const Step& here) {
  if (there.how != here.answer.how) return false;
  if (there.how != Answer::How::kDone) return true;
  return there.result == here.answer.result &&
         (there.value == here.answer.value || here.value_open);
}

std::string text_until(const RecordedProgram& program, const std::vector<Step>& here) {
  std::string out;
  for (std::size_t i = 0; i < here.size(); ++i) {
    out += "  " + op_text(program.ops[i]) + "  # " + answer_text(program.answers[i]);
    if (!(program.answers[i] == here[i].answer)) out += " | here " + answer_text(here[i].answer);
    out += '\n';
  }
  return out;
}

// A call and the calls that made what it names.
std::string call_text(const RecordedProgram& program, std::size_t at) {
  const Op& op = program.ops[at];
  std::string out = "  " + op_text(op) + "  # " + answer_text(program.answers[at]);
  for (std::size_t i = 0; i < at; ++i) {
    const Op& maker = program.ops[i];
    if (maker.name == 0 || is_of_pool(maker.code) != is_of_pool(op.code)) continue;
    if (maker.name == op.ref || maker.name == op.ref2) out += " | " + op_text(maker);
  }
  return out + "\n";
}

bool changes(Code code) {
  return code <= Code::kUnmap || code == Code::kPoolCreate || code == Code::kPoolDestroy ||
         code == Code::kPoolSet || code == Code::kPoolSetAttribute || code == Code::kPoolTrim ||
         code == Code::kSetAttribute || is_data(code);
}

}  // namespace

Comparison compare(const Recording& recording, const Functions& driver,
                   std::string_view permitted) {
  Comparison out;
  Machine machine(driver);
  out.error = machine.error();
  if (out.error.empty() && machine.devices() != recording.machine.devices) {
    out.error = "the recording has another number of devices (CUVMM_DEVICES)";
  }
  if (!out.error.empty()) return out;
  std::map<std::string, Difference> kinds;
  std::size_t number = 0;
  for (const RecordedProgram& program : recording.programs) {
    machine.start();
    std::vector<Step> here;
    std::size_t i = 0;
    for (; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const Answer& there = program.answers[i];
      // A driver's death or a broken context has no like here.
      if (there.how == Answer::How::kDied || is_sticky(static_cast<CUresult>(there.result))) break;
      here.push_back(machine.step(op));
      ++out.calls;
      if (same(there, here.back())) continue;
      if (here.back().outside) {
        ++out.beyond;
        if (!changes(op.code)) continue;
        ++i;
        break;
      }
      const std::string kind = kind_of(op, here.back(), there);
      Difference& difference = kinds[kind];
      if (difference.count++ == 0) {
        difference.kind = kind;
        difference.example = "program " + std::to_string(number) + "\n" + text_until(program, here);
      } else if (difference.count <= kOthers) {
        difference.others += call_text(program, i);
      }
      const bool one_changed = (there.result == 0) != (here.back().answer.result == 0) ||
                               there.how != here.back().answer.how;
      if (changes(op.code) && one_changed) {
        ++i;
        break;
      }
    }
    out.beyond += program.ops.size() - i;
    if (!machine.finish()) {
      Difference& difference = kinds["the end: something cannot be freed"];
      difference.kind = "the end: something cannot be freed";
      if (difference.count++ == 0) {
        difference.example = "program " + std::to_string(number) + "\n" + text_until(program, here);
      }
    }
    ++number;
  }
  for (auto& [kind, difference] : kinds) {
    difference.reason = reason_of(kind, difference.count, permitted);
    if (difference.reason.empty()) out.unexplained += difference.count;
    out.differences.push_back(std::move(difference));
  }
  std::stable_sort(out.differences.begin(), out.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.count > b.count; });
  return out;
}

}  // namespace cuvmm::fuzz::plain
