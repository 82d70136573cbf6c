// SPDX-License-Identifier: Apache-2.0
// Compares a recording with another driver.
#include <algorithm>
#include <map>
#include <optional>

#include "fuzz/ops/layout.h"
#include "fuzz/record/record.h"

namespace cuvmm::fuzz {

namespace {

RecordedAnswer answer_of(const Step& step) {
  using How = RecordedAnswer::How;
  if (step.skipped) return {.how = How::kLeftOut};
  if (!step.answer.run) return {};
  return {How::kDone, step.answer.result, step.answer.value};
}

bool same(const RecordedAnswer& there, const Step& here) {
  const bool left_out = there.how == RecordedAnswer::How::kLeftOut;
  const bool run = there.how == RecordedAnswer::How::kDone;
  if (there.how == RecordedAnswer::How::kDied) return false;
  if (left_out || here.skipped) return left_out == here.skipped;
  if (run != here.answer.run) return false;
  if (!run) return true;
  return there.result == here.answer.result &&
         (there.value == here.answer.value || here.judgement.unpredictable);
}

std::string kind_of(const Op& op, const RecordedAnswer& there, const Step& here, const char* leaves,
                    const char* unsettled) {
  std::string out = std::string(function_of(op.code)) + ": recorded " + answer_text(there) +
                    ", here " + answer_text(answer_of(here));
  for (int i = 0; i < here.judgement.count; ++i) {
    out += std::string(" !") + info(here.judgement.broken[i]).id;
  }
  if (leaves) out += " (outside)";
  if (unsettled) out += std::string(" (") + unsettled + ")";
  return out;
}

// The driver's answer to the only call of its group that differs, as far as the digest tells.
std::optional<RecordedAnswer> likely_answer(const DigestCheck::Mismatch& mismatch,
                                            const Step& here) {
  using How = RecordedAnswer::How;
  constexpr std::uint32_t kSmallValues = 64;
  const RecordedAnswer other_result{How::kDone, CUDA_SUCCESS, here.answer.value};
  if (mismatch.gave(word_of(other_result))) return other_result;
  for (int result = 0; result < 1000; ++result) {
    const auto code = static_cast<CUresult>(result);
    if (result_name(code).rfind("CUDA_", 0) != 0) continue;
    for (std::uint32_t value = 0; value <= (result == 0 ? kSmallValues : 0); ++value) {
      const RecordedAnswer answer{How::kDone, code, value};
      if (mismatch.gave(word_of(answer))) return answer;
    }
  }
  for (const RecordedAnswer answer : {RecordedAnswer{}, RecordedAnswer{.how = How::kLeftOut}}) {
    if (mismatch.gave(word_of(answer))) return answer;
  }
  return std::nullopt;
}

// Whether the call changes nothing on the machine.
bool only_looks(const Op& op) {
  return op.code == Code::kGetAccess || op.code == Code::kRangeHandle ||
         op.code == Code::kProperties || reads(op.code) || op.code == Code::kContext;
}

// Follows the first calls in the layout, by the answers of this driver. Returns whether one of them
// changed an object outside of its names.
bool leaves_before(const Ops& ops, const Result& here, std::size_t count, Layout& layout) {
  bool out = false;
  for (std::size_t i = 0; i < count; ++i) {
    out |= layout.leaves(ops[i]) && !only_looks(ops[i]);
    const Step& step = here.steps[i];
    step.answer.run && !step.skipped && step.answer.result == CUDA_SUCCESS
        ? layout.succeeded(ops[i])
        : layout.failed(ops[i]);
  }
  return out;
}

/// Goes through a recording's programs and counts the calls that the two drivers answered
/// differently.
class Comparer {
 public:
  Comparer(const Recording& recording, Differential& machine, const Judging& judging,
           Comparison& out)
      : recording_(recording),
        machine_(machine),
        judging_(judging),
        out_(out),
        is_abridged_(!recording.abridged.empty()),
        check_(recording.digests, is_abridged_ ? recording.group : kDigestGroup) {}
  /// Takes the recording's next program. False when no program can run any more; then the error
  /// says why.
  bool take();
  /// Sorts the differences, the most frequent first.
  void conclude();

 private:
  struct Run {
    RecordedProgram& program;
    const Result& here;
    Layout layout;
    const Abridged* stored;  ///< for an abridged recording
    Abridged& to_store;
    std::size_t by_layout = 0;  ///< calls so far whose answer depends on more than the program
    bool cut = false;           ///< as a whole, by Judging::cut
  };
  /// A program and this driver's answers, until its group's digest is compared.
  struct Done {
    Ops ops;
    Result here;
  };
  std::size_t end_of(Run& run);
  bool forbidden(const Run& run, std::size_t i) const;
  bool comparable_after(Run& run, std::size_t i);
  void take_stored(Run& run, std::size_t i);
  void follow_digest(Run& run, std::size_t i, bool leaves, bool alike);
  void add_difference(const Run& run, std::size_t i, const char* leaves, const char* unsettled);
  void add_mismatch(const DigestCheck::Mismatch& mismatch);
  static std::size_t died_at(const RecordedProgram& program);
  static void store_all(const RecordedProgram& program, Abridged& out);

  const Recording& recording_;
  Differential& machine_;
  const Judging& judging_;
  Comparison& out_;
  const bool is_abridged_;
  DigestCheck check_;
  std::vector<Done> group_;
  std::map<std::string, Difference> kinds_;
  std::size_t number_ = 0;
};

bool Comparer::take() {
  RecordedProgram program = recording_.programs[number_];
  Result here = machine_.run(program.ops);
  if (!machine_.lost().empty()) {
    out_.error = "program " + std::to_string(number_) + ": process 1 ends: " + machine_.lost() +
                 "\n" + to_text(program.ops, notes_of(here));
    return false;
  }
  const Abridged* stored = is_abridged_ ? &recording_.abridged[number_] : nullptr;
  for (std::size_t i = 0; stored && i < program.ops.size(); ++i) {
    // The digest stands for answers that are not stored.
    if (!stored->known_answer(i)) program.answers[i] = answer_of(here.steps[i]);
  }
  Abridged& to_store = out_.abridged.emplace_back();
  to_store.number = number_;
  Run run{program, here, {}, stored, to_store};
  const std::size_t end = end_of(run);
  out_.beyond += program.ops.size() - end;
  to_store.end = end;
  if (died_at(program) < program.ops.size() && !run.cut) store_all(program, to_store);
  if (stored && end < stored->end) check_.cut();
  if (stored && end == stored->end && run.by_layout != stored->by_layout.size()) {
    Difference& difference = kinds_["other calls depend on more than the program"];
    difference.kind = "other calls depend on more than the program";
    if (difference.count++ == 0) {
      difference.example = "program " + std::to_string(stored->number) + "\n" +
                           to_text(program.ops, notes_of(here)) + kFullRecordings;
    }
  }
  group_.push_back({std::move(program.ops), std::move(here)});
  const bool last = number_ + 1 == recording_.programs.size();
  const bool ends = check_.ends_group(last);
  if (const auto mismatch = check_.end_program(last)) add_mismatch(*mismatch);
  if (ends) group_.clear();
  ++number_;
  return true;
}

// The op in which the driver died, or the number of ops.
std::size_t Comparer::died_at(const RecordedProgram& program) {
  const auto& answers = program.answers;
  const auto died = std::find_if(answers.begin(), answers.end(), [](const RecordedAnswer& a) {
    return a.how == RecordedAnswer::How::kDied;
  });
  return static_cast<std::size_t>(died - answers.begin());
}

void Comparer::store_all(const RecordedProgram& program, Abridged& out) {
  out.end = program.ops.size();
  out.known.clear();
  out.by_layout.clear();
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    out.known.push_back({static_cast<std::uint8_t>(i), word_of(program.answers[i])});
  }
}

// The digest of a group differs: one call of the group does, or several do.
void Comparer::add_mismatch(const DigestCheck::Mismatch& mismatch) {
  std::string kind, example;
  if (mismatch.program) {
    const Done& done = group_[*mismatch.program - mismatch.first];
    const Step& step = done.here.steps[mismatch.op];
    const auto there = likely_answer(mismatch, step);
    kind = there ? kind_of(done.ops[mismatch.op], *there, step, nullptr, nullptr)
                 : std::string(function_of(done.ops[mismatch.op].code)) +
                       ": recorded another answer or value, here " + answer_text(answer_of(step));
    const Ops head(done.ops.begin(),
                   done.ops.begin() + static_cast<std::ptrdiff_t>(mismatch.op + 1));
    example = "program " + std::to_string(recording_.abridged[*mismatch.program].number) +
              ", call " + std::to_string(mismatch.op) + "\n" + to_text(head, notes_of(done.here));
  } else {
    kind = "several calls of these programs: recorded otherwise";
    for (std::size_t i = 0; i < group_.size(); ++i) {
      example += "program " + std::to_string(recording_.abridged[mismatch.first + i].number) +
                 "\n" + to_text(group_[i].ops, notes_of(group_[i].here));
    }
  }
  Difference& difference = kinds_[kind];
  if (difference.count++ > 0) return;
  difference.kind = kind;
  difference.example = example + kFullRecordings;
}

// The index behind the last call that can be compared.
std::size_t Comparer::end_of(Run& run) {
  const std::size_t end = run.stored ? run.stored->end : run.program.ops.size();
  // The answers of a program in which the driver died were lost with the process.
  std::size_t i = died_at(run.program);
  if (i < run.program.ops.size()) {
    const bool foreseen = run.here.steps[i].skipped;
    out_.deaths += foreseen;
    if (foreseen || leaves_before(run.program.ops, run.here, i, run.layout)) return 0;
    if (judging_.cut) {
      ++out_.cuts;
      run.cut = true;
      return 0;
    }
  } else {
    i = 0;
  }
  while (i < end) {
    if (judging_.cut && forbidden(run, i)) {
      ++out_.cuts;
      return i;
    }
    if (!comparable_after(run, i++)) break;
  }
  return i;
}

// Whether the two drivers answer this call differently, and nothing permits that.
bool Comparer::forbidden(const Run& run, std::size_t i) const {
  const Op& op = run.program.ops[i];
  const RecordedAnswer& there = run.program.answers[i];
  const Step& step = run.here.steps[i];
  if (same(there, step) || run.layout.leaves(op)) return false;
  const std::string kind = kind_of(op, there, step, nullptr, run.layout.unsettled(op));
  return reason_of(kind, 1, judging_.permitted).empty();
}

// Compares a call; returns whether both machines are still alike after it.
bool Comparer::comparable_after(Run& run, std::size_t i) {
  const Op& op = run.program.ops[i];
  const char* leaves = run.layout.leaves(op);
  if (run.stored && leaves && !run.stored->known_answer(i)) take_stored(run, i);
  const RecordedAnswer& there = run.program.answers[i];
  const Step& step = run.here.steps[i];
  const bool done = there.how == RecordedAnswer::How::kDone && there.result == CUDA_SUCCESS;
  const char* unsettled = run.layout.unsettled(op);
  done ? run.layout.succeeded(op) : run.layout.failed(op);
  ++out_.calls;
  const bool alike = same(there, step);
  follow_digest(run, i, leaves, alike);
  if (!alike) {
    add_difference(run, i, leaves, unsettled);
    // Two refusals change neither machine.
    return !done && (!step.answer.run || step.skipped || step.answer.result != CUDA_SUCCESS);
  }
  // Equal answers may still be about different objects, so the two machines may differ from here
  // on. A refused access may have taken effect up to the first address outside of this program.
  const bool in_part = op.code == Code::kSetAccess && run.layout.begins_inside(op);
  return !leaves || (!done && !in_part) || only_looks(op);
}

// Takes the next stored answer of a call whose answer depends on more than the program.
void Comparer::take_stored(Run& run, std::size_t i) {
  const std::vector<AnswerWord>& answers = run.stored->by_layout;
  if (run.by_layout < answers.size()) run.program.answers[i] = answer_of(answers[run.by_layout]);
  ++run.by_layout;
}

// An answer that differs here, or that `leaves` the program, is stored. The digest has the others,
// without their value if it is unpredictable.
void Comparer::follow_digest(Run& run, std::size_t i, bool leaves, bool alike) {
  const auto op = static_cast<std::uint8_t>(i);
  const Step& step = run.here.steps[i];
  const bool open = step.judgement.unpredictable;
  AnswerWord answer = word_of(run.program.answers[i]);
  if (run.stored ? run.stored->known_answer(i) != nullptr
                 : !leaves && (!alike || (!open && answer != word_of(answer_of(step))))) {
    if (!run.stored) run.to_store.known.push_back({op, answer});
    return;
  }
  if (leaves) {
    if (!run.stored) run.to_store.by_layout.push_back(answer);
    return;
  }
  if (open) answer.value = 0;
  check_.add(i, answer);
}

void Comparer::add_difference(const Run& run, std::size_t i, const char* leaves,
                              const char* unsettled) {
  const Ops& ops = run.program.ops;
  const std::string kind =
      kind_of(ops[i], run.program.answers[i], run.here.steps[i], leaves, unsettled);
  Difference& difference = kinds_[kind];
  if (difference.count++ > 0) return;
  const Ops head(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(i + 1));
  difference.kind = kind;
  difference.example =
      "program " + std::to_string(number_) + "\n" + to_text(head, notes_of(run.here));
  if (leaves) difference.reason = leaves;
}

void Comparer::conclude() {
  for (auto& [kind, difference] : kinds_) {
    if (difference.reason.empty()) {
      difference.reason = reason_of(kind, difference.count, judging_.permitted);
    }
    if (difference.reason.empty()) out_.unexplained += difference.count;
    out_.differences.push_back(std::move(difference));
  }
  out_.digests = check_.made();
  std::sort(out_.differences.begin(), out_.differences.end(),
            [](const Difference& a, const Difference& b) { return a.count > b.count; });
}

}  // namespace

Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   const Judging& judging, std::unique_ptr<Peer> peer) {
  Comparison out;
  ProfileResult loaded = load_profile(profile.empty() ? builtin_profiles().front() : profile);
  if (recording.machine.processes > 1 && !peer) {
    out.error = "the recording is of two processes";
    return out;
  }
  Differential machine(driver, std::move(loaded.profile),
                       {.spare = true, .wait = false, .charge = false}, std::move(peer));
  out.error = loaded.error.empty() ? machine.error() : loaded.error;
  if (!out.error.empty()) return out;
  if (machine.machine().devices() != recording.machine.devices) {
    out.error = "the recording has another number of devices (CUVMM_DEVICES)";
    return out;
  }
  Comparer comparer(recording, machine, judging, out);
  for (std::size_t i = 0; i < recording.programs.size(); ++i) {
    if (!comparer.take()) return out;
  }
  comparer.conclude();
  return out;
}

}  // namespace cuvmm::fuzz
