// SPDX-License-Identifier: Apache-2.0
// A recording held against another driver.
#include <algorithm>
#include <map>

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

// Whether the call leaves the machine as it is.
bool only_looks(const Op& op) {
  return op.code == Code::kGetAccess || op.code == Code::kRangeHandle ||
         op.code == Code::kProperties || op.code == Code::kRead || op.code == Code::kContext;
}

// Takes the first calls into the layout, by the answers of this driver; whether one of them changed
// something outside what its names stand for.
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

/// Goes through a recording's programs and counts what the two drivers answered otherwise.
class Comparer {
 public:
  Comparer(Differential& machine, Comparison& out) : machine_(machine), out_(out) {}
  /// False when nothing can be run any more: then it says why.
  bool take(const RecordedProgram& program);
  /// The differences, the most frequent first.
  void conclude(std::string_view permitted);

 private:
  struct Run {
    const RecordedProgram& program;
    const Result& here;
    Layout layout;
  };
  std::size_t end_of(Run& run);
  bool comparable_after(Run& run, std::size_t i);
  void add_difference(const Run& run, std::size_t i, const char* leaves, const char* unsettled);

  Differential& machine_;
  Comparison& out_;
  std::map<std::string, Difference> kinds_;
  std::size_t number_ = 0;
};

bool Comparer::take(const RecordedProgram& program) {
  const Result here = machine_.run(program.ops);
  if (!machine_.lost().empty()) {
    out_.error = "program " + std::to_string(number_) + ": process 1 ends: " + machine_.lost() +
                 "\n" + to_text(program.ops, notes_of(here));
    return false;
  }
  Run run{program, here, {}};
  out_.beyond += program.ops.size() - end_of(run);
  ++number_;
  return true;
}

// The call behind the last one that can be compared.
std::size_t Comparer::end_of(Run& run) {
  // What a program answered before the driver died in it went with the process.
  const auto& answers = run.program.answers;
  const auto died = std::find_if(answers.begin(), answers.end(), [](const RecordedAnswer& a) {
    return a.how == RecordedAnswer::How::kDied;
  });
  std::size_t i = 0;
  if (died != answers.end()) {
    i = static_cast<std::size_t>(died - answers.begin());
    const bool foreseen = run.here.steps[i].skipped;
    out_.deaths += foreseen;
    if (foreseen || leaves_before(run.program.ops, run.here, i, run.layout)) return 0;
  }
  while (i < run.program.ops.size()) {
    if (!comparable_after(run, i++)) break;
  }
  return i;
}

// Compares a call; whether the two machines are still alike behind it.
bool Comparer::comparable_after(Run& run, std::size_t i) {
  const Op& op = run.program.ops[i];
  const RecordedAnswer& there = run.program.answers[i];
  const Step& step = run.here.steps[i];
  const bool done = there.how == RecordedAnswer::How::kDone && there.result == CUDA_SUCCESS;
  const char* leaves = run.layout.leaves(op);
  const char* unsettled = run.layout.unsettled(op);
  done ? run.layout.succeeded(op) : run.layout.failed(op);
  ++out_.calls;
  if (!same(there, step)) {
    add_difference(run, i, leaves, unsettled);
    // Two refusals leave both machines as they were.
    return !done && (!step.answer.run || step.skipped || step.answer.result != CUDA_SUCCESS);
  }
  // The same answer, but perhaps about something else: the two machines may differ from here.
  // Refused access may have taken effect up to where it met what is not of this program.
  const bool in_part = op.code == Code::kSetAccess && run.layout.begins_inside(op);
  return !leaves || (!done && !in_part) || only_looks(op);
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

void Comparer::conclude(std::string_view permitted) {
  for (auto& [kind, difference] : kinds_) {
    if (difference.reason.empty()) {
      difference.reason = reason_of(kind, difference.count, permitted);
    }
    if (difference.reason.empty()) out_.unexplained += difference.count;
    out_.differences.push_back(std::move(difference));
  }
  std::sort(out_.differences.begin(), out_.differences.end(),
            [](const Difference& a, const Difference& b) { return a.count > b.count; });
}

}  // namespace

Comparison compare(const Recording& recording, const Driver& driver, const std::string& profile,
                   std::string_view permitted, std::unique_ptr<Peer> peer) {
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
  Comparer comparer(machine, out);
  for (const RecordedProgram& program : recording.programs) {
    if (!comparer.take(program)) return out;
  }
  comparer.conclude(permitted);
  return out;
}

}  // namespace cuvmm::fuzz
