// SPDX-License-Identifier: Apache-2.0
// Compares a recording of plain memory with another driver.
#include <algorithm>
#include <map>

#include "api/driver/driver.h"
#include "fuzz/plain/record.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kOthers = 8;

// Differences that vary only in names, places and values are of one kind.
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
  // Digests and names of blocks vary, so they are left out of the kind.
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

// The text of a call, with the calls that made the objects it names.
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

// Whether an abridged recording stores the answer, because it depends on more than the program. It
// has no answers of calls that only ask about memory outside: nothing depends on them.
bool is_stored(const Op& op, const Step& here) {
  return here.by_layout || (here.outside && changes(op.code));
}

// The driver's answer to the only call of its group that differs, as far as the digest tells.
std::string likely_answer(const DigestCheck::Mismatch& mismatch, const Answer& here) {
  for (std::uint16_t result = 0; result < 1000; ++result) {
    if (!result_name(static_cast<CUresult>(result)).starts_with("CUDA_")) continue;
    for (const std::uint32_t value : {std::uint32_t{0}, here.value}) {
      const Answer answer{Answer::How::kDone, result, value};
      if (mismatch.gave(word_of(answer))) return answer_text(answer);
    }
  }
  return "another answer or value";
}

/// Goes through a recording's programs and counts the calls that the two drivers answered
/// differently.
class Comparer {
 public:
  Comparer(const Recording& recording, Machine& machine, Comparison& out)
      : recording_(recording),
        machine_(machine),
        out_(out),
        is_abridged_(!recording.abridged.empty()),
        check_(recording.digests, is_abridged_ ? recording.group : kDigestGroup) {}
  /// Takes the recording's next program.
  void take();
  /// Sorts the differences, the most frequent first.
  void conclude(std::string_view permitted);

 private:
  /// A program, the recorded answers, and this driver's answers.
  struct Run {
    RecordedProgram program;
    std::vector<Step> here;
    std::size_t by_layout = 0;  ///< calls so far whose answer depends on more than the program
  };
  bool comparable_after(Run& run, std::size_t i);
  void follow_digest(const Run& run, std::size_t i);
  void add_difference(const Run& run, std::size_t i);
  void add_mismatch(const DigestCheck::Mismatch& mismatch);
  void add(const std::string& kind, const std::string& example);
  const Abridged* stored() const { return is_abridged_ ? &recording_.abridged[number_] : nullptr; }
  std::string title(std::size_t place) const {
    return "program " + std::to_string(is_abridged_ ? recording_.abridged[place].number : place);
  }

  const Recording& recording_;
  Machine& machine_;
  Comparison& out_;
  const bool is_abridged_;
  DigestCheck check_;
  std::vector<Run> group_;
  std::map<std::string, Difference> kinds_;
  std::size_t number_ = 0;
};

void Comparer::take() {
  machine_.start();
  Run run{recording_.programs[number_], {}};
  Abridged& to_store = out_.abridged.emplace_back();
  to_store.number = number_;
  const std::size_t end = is_abridged_ ? stored()->end : run.program.ops.size();
  std::size_t i = 0;
  while (i < end) {
    const Answer& there = run.program.answers[i];
    // This driver cannot repeat a driver's death or a broken context.
    if (there.how == Answer::How::kDied || is_sticky(static_cast<CUresult>(there.result))) break;
    if (!comparable_after(run, i++)) break;
  }
  to_store.end = i;
  out_.beyond += run.program.ops.size() - i;
  if (is_abridged_ && i < end) check_.cut();
  if (is_abridged_ && i == end && run.by_layout != stored()->by_layout.size()) {
    add("other calls depend on more than the program",
        title(number_) + "\n" + text_until(run.program, run.here) + kFullRecordings);
  }
  if (!machine_.finish()) {
    add("the end: something cannot be freed",
        title(number_) + "\n" + text_until(run.program, run.here));
  }
  group_.push_back(std::move(run));
  const bool last = number_ + 1 == recording_.programs.size();
  const bool ends = check_.ends_group(last);
  if (const auto mismatch = check_.end_program(last)) add_mismatch(*mismatch);
  if (ends) group_.clear();
  ++number_;
}

// Makes a call and compares it; returns whether both machines are still alike after it.
bool Comparer::comparable_after(Run& run, std::size_t i) {
  const Op& op = run.program.ops[i];
  run.here.push_back(machine_.step(op));
  const Step& here = run.here.back();
  Answer& there = run.program.answers[i];
  if (is_abridged_ && !stored()->known_answer(i)) {
    // The digest stands for answers that are not stored, or nothing depends on them.
    there = here.answer;
    if (is_stored(op, here) && run.by_layout++ < stored()->by_layout.size()) {
      there = answer_of(stored()->by_layout[run.by_layout - 1]);
    }
  }
  ++out_.calls;
  follow_digest(run, i);
  if (same(there, here)) return true;
  if (here.outside) {
    ++out_.beyond;
    return !changes(op.code);
  }
  add_difference(run, i);
  const bool one_changed =
      (there.result == 0) != (here.answer.result == 0) || there.how != here.answer.how;
  return !changes(op.code) || !one_changed;
}

// An answer that differs here, or that is_stored(), is stored. The digest has the others, without
// their value if it depends on bytes that no call wrote.
void Comparer::follow_digest(const Run& run, std::size_t i) {
  const Step& here = run.here[i];
  Answer answer = run.program.answers[i];
  const auto op = static_cast<std::uint8_t>(i);
  if (is_abridged_ ? stored()->known_answer(i) != nullptr : !here.outside && !same(answer, here)) {
    if (!is_abridged_) out_.abridged.back().known.push_back({op, word_of(answer)});
    return;
  }
  if (is_stored(run.program.ops[i], here)) {
    if (!is_abridged_) out_.abridged.back().by_layout.push_back(word_of(answer));
    return;
  }
  if (here.outside) return;
  if (here.value_open) answer.value = 0;
  check_.add(i, word_of(answer));
}

void Comparer::add(const std::string& kind, const std::string& example) {
  Difference& difference = kinds_[kind];
  if (difference.count++ > 0) return;
  difference.kind = kind;
  difference.example = example;
}

void Comparer::add_difference(const Run& run, std::size_t i) {
  const std::string kind = kind_of(run.program.ops[i], run.here[i], run.program.answers[i]);
  add(kind, title(number_) + "\n" + text_until(run.program, run.here));
  Difference& difference = kinds_[kind];
  if (difference.count > 1 && difference.count <= kOthers) {
    difference.others += call_text(run.program, i);
  }
}

// The digest of a group differs: one call of the group does, or several do.
void Comparer::add_mismatch(const DigestCheck::Mismatch& mismatch) {
  if (mismatch.program) {
    const Run& run = group_[*mismatch.program - mismatch.first];
    const Answer& here = run.here[mismatch.op].answer;
    std::string example = title(*mismatch.program) + ", call " + std::to_string(mismatch.op) + "\n";
    for (std::size_t i = 0; i <= mismatch.op; ++i) {
      example +=
          "  " + op_text(run.program.ops[i]) + "  # " + answer_text(run.here[i].answer) + "\n";
    }
    return add(std::string(function_name(run.program.ops[mismatch.op])) + ": recorded " +
                   likely_answer(mismatch, here) + ", here " + answer_text(here),
               example + kFullRecordings);
  }
  std::string example;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    example += title(mismatch.first + i) + "\n" + text_until(group_[i].program, group_[i].here);
  }
  add("several calls of these programs: recorded otherwise", example + kFullRecordings);
}

void Comparer::conclude(std::string_view permitted) {
  out_.digests = check_.made();
  for (auto& [kind, difference] : kinds_) {
    difference.reason = reason_of(kind, difference.count, permitted);
    if (difference.reason.empty()) out_.unexplained += difference.count;
    out_.differences.push_back(std::move(difference));
  }
  std::stable_sort(out_.differences.begin(), out_.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.count > b.count; });
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
  Comparer comparer(recording, machine, out);
  for (std::size_t i = 0; i < recording.programs.size(); ++i) comparer.take();
  comparer.conclude(permitted);
  return out;
}

}  // namespace cuvmm::fuzz::plain
