// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "fuzz/flight/compare.h"
#include "fuzz/machine/peer.h"
#include "program/session.h"
#include "shim/session/session_run.h"

namespace cuvmm::fuzz::flight {

namespace {

using program::Outcome;
using program::Statement;

class RuleSink : public shim::FindingSink {
 public:
  void take(shim::Finding finding) override {
    const Violation& violation = finding.violation;
    rules.push_back(violation.rule);
    const bool launched = finding.entry == EntryPoint::kLaunchKernel ||
                          finding.entry == EntryPoint::kLaunchCooperativeKernel;
    const bool used = std::any_of(
        violation.objects.begin(), violation.objects.end(), [](const ObjectRef& object) {
          return object.work && std::string_view(object.work->what) == "kernel";
        });
    if (launched || used) of_kernels.push_back(violation.rule);
  }
  void clear() {
    rules.clear();
    of_kernels.clear();
  }
  std::vector<Rule> rules, of_kernels;  ///< of the last call
};

void add_once(std::vector<Rule>& rules, Rule rule) {
  if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
}

class Machine {
 public:
  explicit Machine(const LoadedDriver& driver)
      : raw_(driver.driver),
        session_(raw_,
                 {.enforce = false,
                  .emulated = true,
                  .work = {.mode = shim::AsyncMode::kObserved,
                           .unordered = false,
                           .questions = shim::find_questions(
                               [&](const char* name) { return dlsym(driver.library, name); })}},
                 sink_) {}

  Driver tapped();
  template <class CallStruct>
  CUresult step(const CallStruct& call);
  void run(const program::Program& program, const std::optional<Driver>& other);

  Result result;

 private:
  static CUresult CUDAAPI load(CUmodule* module, const void* image);
  static bool names_other(const program::Value& value);
  void hand_over(const Statement& statement, program::Session& from, program::Session& to);
  void note_kernel(const Statement& statement, const program::Session& session);
  /// Asks the driver whether each of these streams is busy.
  std::map<int, bool> ask(const Opinion& opinion);
  void disagree(std::string problem) {
    if (!result.problem.empty()) return;
    result.problem = "line " + std::to_string(line_) + ", " + std::move(problem);
  }
  void finish();

  Driver raw_;
  RuleSink sink_;
  shim::Session session_;
  Reference reference_;
  int thread_ = 0, line_ = 0;
  std::string note_;
  bool must_fault_ = false;
};

Machine* g_machine = nullptr;

template <class CallStruct, class Function>
struct Tap;
template <class CallStruct, class... Args>
struct Tap<CallStruct, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args... args) { return g_machine->step(CallStruct{args...}); }
};

Driver Machine::tapped() {
  Driver out = raw_;
  const auto tap = [&]<class CallStruct>(const CallStruct*) {
    using Way = Tap<CallStruct, typename CallStruct::Function>;
    out.set(Driver::primary_symbol(CallStruct::kEntryPoint),
            reinterpret_cast<Driver::AnyFunction>(&Way::call));
  };
  // The session learns the parameters of kernels from their PTX.
  out.set(Driver::primary_symbol(EntryPoint::kModuleLoadData),
          reinterpret_cast<Driver::AnyFunction>(&load));
#define CUVMM_FLIGHT_CALL(call) tap(static_cast<const calls::call*>(nullptr));
#include "fuzz/flight/calls.def"
  return out;
}

CUresult CUDAAPI Machine::load(CUmodule* module, const void* image) {
  const calls::ModuleLoadData call{module, image};
  return g_machine->session_.run(Driver::primary_symbol(EntryPoint::kModuleLoadData), call,
                                 CUVMM_CALLER);
}

std::map<int, bool> Machine::ask(const Opinion& opinion) {
  std::map<int, bool> busy;
  const auto ask_one = [&](int stream) {
    if (busy.contains(stream)) return;
    const History::Stream& of = reference_.history().stream(stream);
    constexpr std::uint64_t kThreadHandle = 2;
    const bool mine = of.live && (of.handle != kThreadHandle || of.thread == thread_);
    busy[stream] = mine && raw_(calls::StreamQuery{reinterpret_cast<CUstream>(of.handle)}) ==
                               CUDA_ERROR_NOT_READY;
    if (mine && !busy[stream]) {
      reference_.history().end(reference_.history().awaited(stream));
    }
  };
  for (const Suspect& suspect : opinion.suspects) ask_one(suspect.stream);
  for (const Node node : opinion.early) ask_one(reference_.history().piece(node).stream);
  return busy;
}

template <class CallStruct>
CUresult Machine::step(const CallStruct& call) {
  const Opinion opinion = reference_.judge(call, thread_);
  if (result.stopped || !opinion.made || !result.problem.empty()) {
    note_ = "left out";
    return CUDA_ERROR_UNKNOWN;
  }
  ++result.calls;
  sink_.clear();
  const std::map<int, bool> before = ask(opinion);
  CUresult answer = CUDA_SUCCESS;
  if constexpr (CallStruct::kIntercepted) {
    answer = session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  } else {
    answer = raw_(call);
  }
  const std::map<int, bool> after = ask(opinion);
  note_ = result_name(answer);
  if (session_.off()) disagree("the shim turned itself off");
  const bool ready = answer == CUDA_SUCCESS;
  const Compared compared = compare(opinion, reference_.history(), before, after, sink_.rules);
  // A copy that waits for itself fails at once where its memory is no longer mapped.
  const bool fails = compared.robbed && !ready;
  if (!ready && !fails && !(opinion.may_wait && answer == CUDA_ERROR_NOT_READY)) {
    disagree(std::string(CallStruct::kName) + " answered " + result_name(answer));
  }
  if (!compared.problem.empty() && !fails) disagree(CallStruct::kName + (": " + compared.problem));
  for (const Rule rule : sink_.rules) {
    if (!is_flight(rule)) continue;
    note_ += std::string(" !") + info(rule).id;
    add_once(result.found, rule);
  }
  for (const Rule rule : sink_.of_kernels) {
    if (is_flight(rule)) add_once(result.of_kernels, rule);
  }
  must_fault_ |= compared.must_fault;
  result.stopped = compared.robbed;
  if (ready) reference_.accept(call, thread_);
  return answer;
}

// Legacy IPC passes bytes to the other process, so the name stands for them there as well.
void Machine::hand_over(const Statement& statement, program::Session& from, program::Session& to) {
  if (statement.result.empty()) return;
  const program::Binding* made = from.binding(statement.result);
  if (made) to.bind(statement.result, *made);
}

// The reference does not see how kernels are loaded, so their names are passed to it here.
void Machine::note_kernel(const Statement& statement, const program::Session& session) {
  const program::Binding* made = session.binding(statement.result);
  if (made && !statement.arguments.empty()) {
    reference_.loaded(made->number, statement.arguments.front().value.text);
  }
}

void Machine::run(const program::Program& program, const std::optional<Driver>& other) {
  program::Session own(tapped());
  std::optional<program::Session> theirs;
  if (other) theirs.emplace(*other);
  for (const Statement& statement : program.statements) {
    thread_ = statement.thread;
    line_ = statement.line;
    note_.clear();
    const bool elsewhere = statement.process != 0 && theirs;
    program::Session& session = elsewhere ? *theirs : own;
    const Outcome outcome = session.execute(statement);
    if (statement.function == "kernel" && !elsewhere) note_kernel(statement, own);
    if (theirs) hand_over(statement, session, elsewhere ? own : *theirs);
    if (note_.empty()) note_ = program::outcome_text(outcome);
    result.notes.push_back(note_);
  }
  finish();
}

void Machine::finish() {
  line_ = 0;
  const CUresult end = raw_(calls::CtxSynchronize{});
  result.faulted = end != CUDA_SUCCESS;
  if (!result.stopped && result.faulted) {
    disagree("the end: all is ordered, but the work answered " + result_name(end));
  }
  if (must_fault_ && !result.faulted) {
    disagree("the end: work that was said to be unfinished did not miss its memory");
  }
}

}  // namespace

Result run(const LoadedDriver& driver, const std::string& path, const program::Program& program) {
  const bool two = std::any_of(program.statements.begin(), program.statements.end(),
                               [](const Statement& s) { return s.process != 0; });
  std::optional<Peer> peer;
  if (two) peer.emplace(path);
  const std::optional<Driver> other = peer ? std::optional(peer->driver()) : std::nullopt;
  const auto machine = std::make_unique<Machine>(driver);
  g_machine = machine.get();
  machine->run(program, other);
  return machine->result;
}

}  // namespace cuvmm::fuzz::flight
