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
  std::map<std::string, Difference> kinds;
  std::size_t number = 0;
  for (const RecordedProgram& program : recording.programs) {
    const Result here = machine.run(program.ops);
    if (!machine.lost().empty()) {
      out.error = "program " + std::to_string(number) + ": process 1 ends: " + machine.lost() +
                  "\n" + to_text(program.ops, notes_of(here));
      return out;
    }
    Layout layout;
    // What a program answered before the driver died in it went with the process.
    const auto died =
        std::find_if(program.answers.begin(), program.answers.end(),
                     [](const RecordedAnswer& a) { return a.how == RecordedAnswer::How::kDied; });
    const bool dead = died != program.answers.end();
    std::size_t i = dead ? static_cast<std::size_t>(died - program.answers.begin()) : 0;
    const bool foreseen = dead && here.steps[i].skipped;
    out.deaths += foreseen;
    if (foreseen || (dead && leaves_before(program.ops, here, i, layout))) {
      out.beyond += program.ops.size();
      ++number;
      continue;
    }
    for (; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const RecordedAnswer& there = program.answers[i];
      const Step& step = here.steps[i];
      const bool run = there.how == RecordedAnswer::How::kDone;
      const bool done = run && there.result == CUDA_SUCCESS;
      const char* leaves = layout.leaves(op);
      const char* unsettled = layout.unsettled(op);
      done ? layout.succeeded(op) : layout.failed(op);
      ++out.calls;
      if (!same(there, step)) {
        const std::string kind = kind_of(op, there, step, leaves, unsettled);
        Difference& difference = kinds[kind];
        if (difference.count++ == 0) {
          const Ops head(program.ops.begin(),
                         program.ops.begin() + static_cast<std::ptrdiff_t>(i + 1));
          difference.kind = kind;
          difference.example =
              "program " + std::to_string(number) + "\n" + to_text(head, notes_of(here));
          if (leaves) difference.reason = leaves;
        }
        // Two refusals leave both machines as they were.
        const bool harmless =
            !done && (!step.answer.run || step.skipped || step.answer.result != CUDA_SUCCESS);
        if (harmless) continue;
        break;
      }
      // The same answer, but perhaps about something else: the two machines may differ from here.
      // Refused access may have taken effect up to where it met what is not of this program.
      const bool in_part = op.code == Code::kSetAccess && layout.begins_inside(op);
      if (leaves && (done || in_part) && !only_looks(op)) break;
    }
    out.beyond += program.ops.size() - std::min(i + 1, program.ops.size());
    ++number;
  }
  for (auto& [kind, difference] : kinds) {
    if (difference.reason.empty()) {
      difference.reason = reason_of(kind, difference.count, permitted);
    }
    if (difference.reason.empty()) out.unexplained += difference.count;
    out.differences.push_back(std::move(difference));
  }
  std::sort(out.differences.begin(), out.differences.end(),
            [](const Difference& a, const Difference& b) { return a.count > b.count; });
  return out;
}

}  // namespace cuvmm::fuzz
