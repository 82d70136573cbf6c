// SPDX-License-Identifier: Apache-2.0
// Runs a program on a driver and compares every answer with the reference's opinion.
#pragma once

#include <string>
#include <vector>

#include "fuzz/machine/failing.h"
#include "fuzz/machine/machine.h"
#include "fuzz/machine/peer.h"
#include "fuzz/ops/text.h"
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

/// The result of one op.
struct Step {
  Answer answer;
  Judgement judgement;
  EntryPoint entry = EntryPoint::kCount;  ///< kCount: no call was made
  bool skipped = false;  ///< the call was not made: the driver would crash, or touch memory outside
                         ///< of the program
  bool failed = false;   ///< made to fail (fuzz/machine/failing.h)
};

/// The result of a program.
struct Result {
  enum class Verdict { kAgree, kPoisoned, kDisagree };
  Verdict verdict = Verdict::kAgree;
  std::string problem;  ///< the first disagreement: "op 3, cuMemMap: ..."; without addresses
  unsigned calls = 0;   ///< calls that reached the driver, including a shim's own
  std::size_t at = 0;   ///< index of the op; the number of ops when the clean-up found the problem
  bool broken = false;  ///< with DifferentialOptions::wait: the context has failed for good
  std::vector<Step> steps;
};

/// Counts over many programs.
struct Statistics {
  std::uint64_t programs = 0, poisoned = 0, calls = 0, succeeded = 0, skipped = 0;
  std::uint64_t by_rule[static_cast<std::size_t>(Rule::kCount)] = {};
  void add(const Result& result);
  /// "12000 programs, 350000 calls, 76 % succeeded, 1 % poisoned, 90 rules broken"
  std::string text() const;
};

/// Options of a run.
struct DifferentialOptions {
  bool spare = false;  ///< leave out calls that kill a real driver or touch foreign memory
  bool wait = false;   ///< let copies and fills end before the next call, unless a stream captures
  bool multicast =
      false;  ///< make calls of api/multicast.h: of the emulator only, never of a real driver
  bool charge = true;  ///< no other program uses the memory, so OUT_OF_MEMORY can be predicted
  /// cuGraphDestroy of the driver, which is no entry point; null: the graphs of programs stay.
  CUresult (*destroy_graph)(CUgraph) = nullptr;
};

/// The comment of each op in a reproducer: its answer, and the rules that it breaks.
std::vector<Note> notes_of(const Result& result);

/// Makes the calls without a shim.
class Plain {
 public:
  explicit Plain(const Driver& driver) : driver_(driver) {}
  template <class CallStruct>
  CUresult run(const CallStruct& call) {
    return driver_(call);
  }
  /// Returns what is wrong beside the answer; null for nothing.
  const char* judge(const Judgement&, CUresult) { return nullptr; }

 private:
  const Driver& driver_;
};

/// Runs any number of programs on one process's driver.
class Differential {
 public:
  /// With `peer`, programs may have two processes; the second one uses the peer's driver.
  Differential(const Driver& driver, Profile profile, DifferentialOptions options,
               std::unique_ptr<Peer> peer = nullptr);
  const std::string& error() const { return machine_.error(); }
  Machine& machine() { return machine_; }
  const Profile& profile() const { return profile_; }
  /// How the other process ended by itself; empty while it lives, or where there is none. After its
  /// end no program can run.
  std::string lost() const { return peer_ ? peer_->lost() : std::string(); }
  /// Called before each op, for an observer; may be empty.
  std::function<void(std::size_t)> on_step;

  /// Runs the program and ends the objects that it left.
  Result run(const Ops& ops) {
    Plain plain(machine_.driver());
    return run(ops, plain);
  }
  /// run() with calls that go through `runner`, which is Plain or has its members.
  template <class Runner>
  Result run(const Ops& ops, Runner& runner);

 private:
  template <class Runner>
  void step(const Op& op, std::size_t index, Runner& runner, Result& result);
  void clean_up(Result& result);
  void clean_up(Result& result, int process);
  void close_opened(Result& result, int process);
  /// Ends the pools and external memory of process 0; the other process has none.
  void clean_up_areas(Result& result);
  /// Ends captures first, because they forbid other calls.
  void clean_up_streams(Result& result);
  /// Destroys process 0's logical endpoints and releases their ids.
  void destroy_endpoints(Result& result);
  static void check_end(Result& result, CUresult answer, const char* what);
  Reference& reference(int process) { return process ? other_reference_ : reference_; }
  static void disagree(Result& result, std::size_t at, std::string problem);

  std::unique_ptr<Peer> peer_;
  Machine machine_;
  Profile profile_;
  DifferentialOptions options_;
  std::size_t free_memory_[kProcesses] = {};
  Reference reference_, other_reference_;
};

template <class Runner>
Result Differential::run(const Ops& ops, Runner& runner) {
  Result result;
  result.steps.reserve(ops.size());
  reference_.clear();
  other_reference_.clear();
  machine_.start();
  std::size_t i = 0;
  // Consecutive ops of one thread are one hand-over to it and back.
  const auto errand = [&] {
    const int thread = thread_of(ops[i]);
    for (; i < ops.size() && thread_of(ops[i]) == thread; ++i) {
      if (on_step) on_step(i);
      step(ops[i], i, runner, result);
      if (!peer_ || peer_->lost().empty()) continue;
      disagree(result, i, "process 1 ends: " + peer_->lost());
      result.steps.resize(ops.size());
      i = ops.size();
      return;
    }
  };
  while (i < ops.size()) machine_.on_thread(thread_of(ops[i]), errand);
  result.calls = calls_made();
  fail_call(0);
  clean_up(result);
  return result;
}

template <class Runner>
void Differential::step(const Op& op, std::size_t index, Runner& runner, Result& result) {
  Step& step = result.steps.emplace_back();
  const char* wrong = nullptr;
  const Actor actor{machine_.device_of(op.actor), thread_of(op)};
  const int process = process_of(op);
  Reference& reference = this->reference(process);
  step.answer = machine_.step(op, [&](const auto& call) -> CUresult {
    step.entry = call.kEntryPoint;
    step.judgement = reference.judge(call, actor);
    reference.hold_back(step.judgement, step.entry, actor);
    const bool spared = options_.spare && step.judgement.dangerous(profile_, step.entry);
    if (spared || step.judgement.uncovered) {
      step.skipped = true;
      return CUDA_ERROR_UNKNOWN;
    }
    const bool failed_before = call_failed();
    const CUresult answer = process ? machine_.driver(process)(call) : runner.run(call);
    // Where a shim's own question failed, the program's call went on.
    step.failed = call_failed() && !failed_before && answer == CUDA_ERROR_OUT_OF_MEMORY;
    if (answer == CUDA_SUCCESS) {
      if constexpr (requires { reference.knows(call); }) {
        if (!reference.knows(call)) step.judgement.unpredictable = true;
      }
      if constexpr (requires { reference.accept(call, profile_); }) {
        wrong = reference.accept(call, profile_);
      } else if constexpr (requires { reference.accept(call, actor); }) {
        wrong = reference.accept(call, actor);
      } else {
        wrong = reference.accept(call);
      }
      if (options_.wait && op.code >= Code::kFill && !reference_.capturing()) {
        machine_.driver(process)(calls::CtxSynchronize{});
      }
    }
    if constexpr (requires { reference.refuse(call, answer, profile_); }) {
      if (answer != CUDA_SUCCESS) reference.refuse(call, answer, profile_);
    } else if constexpr (requires { reference.refuse(call, answer, actor); }) {
      if (answer != CUDA_SUCCESS) reference.refuse(call, answer, actor);
    }
    if (answer != CUDA_SUCCESS) reference.refused_in_capture(step.entry, answer, actor);
    if (!wrong && !process) wrong = runner.judge(step.judgement, answer);
    return answer;
  });
  if (step.entry == EntryPoint::kCount || step.skipped) return;
  if (step.failed) return;
  if (process && !peer_->lost().empty()) return;
  const CUresult answer = step.answer.result;
  if (!step.judgement.accepts(profile_, step.entry, answer)) {
    disagree(result, index, std::string(name(step.entry)) + " answered " + result_name(answer));
  } else if (wrong) {
    disagree(result, index, std::string(name(step.entry)) + ": " + wrong);
  }
}

}  // namespace cuvmm::fuzz
