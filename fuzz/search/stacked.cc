// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/stacked.h"

#include <optional>

#include "api/fnv1a.h"
#include "fuzz/ops/layout.h"
#include "shim/session/session_run.h"

namespace cuvmm::fuzz {

namespace {

// What the shim cannot know for sure, so that its silence is no mistake: how much is free, what the
// machine has, whether a value it never saw was made by another route.
bool may_be_silent(Rule rule) {
  switch (rule) {
    case Rule::kReserveCapacity:
    case Rule::kCreateFits:
    case Rule::kCreateFabricChannel:
    case Rule::kCreateNumaNode:
    case Rule::kReleaseHandleValid:
    case Rule::kPropertiesHandleValid:
    case Rule::kMapHandleValid:
    case Rule::kExportHandleValid:
    case Rule::kMapPtrReserved:
    case Rule::kUnmapPtrReserved:
    case Rule::kAccessMapped:
    case Rule::kGetAccessMapped:
    case Rule::kRetainAddrMapped:
    case Rule::kFreeExact:
    case Rule::kRangeOneDevice:
    case Rule::kMapBounds:  // of an import, whose size it does not know
    case Rule::kMcBindInsideMemory:
    case Rule::kMapPtrAligned:
    case Rule::kAccessPtrAligned:
    case Rule::kAccessSizeAligned:
    case Rule::kDataMapped:
    case Rule::kDataContext:
    case Rule::kImportDescriptorNonzero:
    case Rule::kImportDescriptorValid:
    case Rule::kImportFabricValid:
    case Rule::kPoolAllocContext:   // a question to the driver for each allocation is too many
    case Rule::kIpcFreedWhileOpen:  // what another process has open
    case Rule::kPoolTakeAlive:      // what a pointer's data stands for is the driver's secret
    case Rule::kPoolTakeData:
    case Rule::kPoolSetLocal:  // where a default pool lies
    case Rule::kPlaceSetMatches:
    case Rule::kEpImportValid:  // what an endpoint's bytes stand for is the driver's secret
      return true;
    default:
      return info(rule).kind == RuleKind::kAdvice;
  }
}

// How large an allocation of another process is; what an imported endpoint is, and what was done to
// one that others may have imported.
bool of_unseen(Rule rule) {
  switch (rule) {
    case Rule::kExtImportSizeExact:
    case Rule::kExtBufferInsideObject:
    case Rule::kEpAddMulticast:
    case Rule::kEpAddOnce:
    case Rule::kEpAddLimit:
    case Rule::kEpBindInside:
    case Rule::kEpBindDevice:
    case Rule::kEpBindShareable:
    case Rule::kEpBindVacant:
    case Rule::kEpUnbindDevice:
    case Rule::kEpUnbindBound:
    case Rule::kEpUnbindExact:
    case Rule::kFcSourceUnicast:
    case Rule::kFcEndpointInside:
    case Rule::kFcEndpointBound:
    case Rule::kFcOwnerAccess:
    case Rule::kManagedOnly:
    case Rule::kWhereManaged:
      return true;
    default:
      return false;
  }
}

bool of_access(Rule rule) { return rule == Rule::kDataReadable || rule == Rule::kDataWritable; }

// Whether another mistake was made than was found, of which the shim sees nothing else.
bool looks_alike(Rule found, const Judgement& judgement) {
  switch (found) {
    case Rule::kMapWholeAllocation:  // the size of an import is unknown: too much, or not all
      return judgement.breaks(Rule::kMapBounds);
    case Rule::kPoolImportDescriptor:  // another process's export is no pool's, whatever it is
      return judgement.unseen && judgement.breaks(Rule::kPoolImportKind);
    case Rule::kImportDescriptorOwned:  // the number came back by another process, and went again
      return judgement.unseen && judgement.breaks(Rule::kImportDescriptorValid);
    case Rule::kExtImportFdValid:  // of what another process exported it knows nothing
      return judgement.unseen && judgement.has(Quirk::kExtCompressedElsewhere);
    case Rule::kExtImportFdOwned:
      return judgement.unseen && (judgement.breaks(Rule::kExtImportFdValid) ||
                                  judgement.has(Quirk::kExtCompressedElsewhere));
    case Rule::kCreatePcieRdma:  // a bit that newer drivers know, among some that none does
      return judgement.breaks(Rule::kCreateUsageKnown);
    case Rule::kEpAddOnce:  // the shim does not know what an import is, and what others did to it
    case Rule::kEpBindImported:
    case Rule::kEpBindVacant:
    case Rule::kFcEndpointBound:
      return judgement.unseen && !judgement.legal();
    case Rule::kPoolTakeData:  // bytes of memory that is gone may be of none
      return judgement.breaks(Rule::kPoolTakeAlive);
    case Rule::kIpcOpenAlive:  // bytes of something else, or of memory that is gone
      return judgement.breaks(Rule::kIpcOpenHandleValid);
    default:
      return false;
  }
}

class Sink : public shim::FindingSink {
 public:
  void take(shim::Finding finding) override {
    if (guesses || finding.violation.certain) rules.push_back(finding.violation.rule);
  }
  bool guesses = true;      ///< whether findings that the shim is not certain of count
  std::vector<Rule> rules;  ///< of the last call
};

class Shim {
 public:
  explicit Shim(const Driver& driver)
      : driver_(driver), session_(driver, {.enforce = false, .emulated = true}, sink_) {}

  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    sink_.rules.clear();
    if constexpr (CallStruct::kIntercepted) {
      return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
    } else {
      return driver_(call);
    }
  }

  const char* judge(const Judgement& judgement, CUresult answer) {
    if (session_.off()) return "the shim turned itself off";
    // Why a call failed that was made to fail is anybody's guess. Where it was a question of the
    // shim's own, it has not learned something, and may be silent from then on.
    const bool failed = call_failed() && !failed_before_;
    failed_before_ = call_failed();
    if (failed && answer != CUDA_ERROR_OUT_OF_MEMORY) blind_ = true, sink_.guesses = false;
    if (failed) return nullptr;
    // Where a driver sets the access of a part only, the shim cannot know of which.
    partly_ = partly_ || (judgement.breaks(Rule::kAccessHole) && answer == CUDA_SUCCESS) ||
              (judgement.breaks(Rule::kAccessHostLocation) && answer == CUDA_ERROR_NOT_SUPPORTED);
    bool hit = sink_.rules.empty();
    // Why a driver refuses what it may refuse, a shim can only guess.
    const bool guessed = judgement.may_refuse && answer != CUDA_SUCCESS;
    for (const Rule rule : sink_.rules) {
      if (judgement.breaks(rule) || looks_alike(rule, judgement) || (partly_ && of_access(rule))) {
        hit = true;
      } else if (!judgement.foreign && !judgement.loose && !guessed) {
        text_ = std::string("a finding without a cause: ") + info(rule).id;
        return text_.c_str();
      }
    }
    if (!sink_.rules.empty() || judgement.foreign || judgement.loose) return nullptr;
    if (blind_ || guessed) return nullptr;
    for (int i = 0; hit && i < judgement.count; ++i) {
      const Rule rule = judgement.broken[i];
      if (may_be_silent(rule) || (partly_ && of_access(rule))) continue;
      if (judgement.unseen && of_unseen(rule)) continue;
      text_ = std::string("no finding for ") + info(judgement.broken[i]).id;
      return text_.c_str();
    }
    return nullptr;
  }

 private:
  const Driver& driver_;
  Sink sink_;
  std::string text_;
  bool failed_before_ = false;
  bool partly_ = false;
  bool blind_ = false;
  shim::Session session_;
};

}  // namespace

namespace {

// The first call of the program that answers otherwise under the shim.
void hold_together(const Ops& ops, const Result& bare, Result& stacked) {
  const bool two = processes_of(ops) > 1;
  Layout layout;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Answer& a = bare.steps[i].answer;
    const Answer& b = stacked.steps[i].answer;
    // Bytes that nobody wrote may differ from run to run.
    const bool same_value = a.value == b.value || bare.steps[i].judgement.unpredictable;
    const bool same = a.run == b.run && a.result == b.result && same_value;
    // Another process's number may be a good one here by chance, in one of the two runs.
    const bool done = a.run && a.result == CUDA_SUCCESS;
    if (two && layout.leaves(ops[i]) && (!same || done)) return;
    if (two) done ? layout.succeeded(ops[i]) : layout.failed(ops[i]);
    if (same) continue;
    stacked.verdict = Result::Verdict::kDisagree;
    stacked.at = i;
    stacked.problem = std::string(function_of(ops[i].code)) + ": " + result_name(a.result) +
                      " bare, " + result_name(b.result) + " under the shim";
    return;
  }
}

// One at a time, in one place: a session has more than a megabyte, which would be mapped and
// unmapped for each program.
Shim& fresh_shim(Differential& machine) {
  static auto& only = *new std::optional<Shim>;
  return only.emplace(machine.machine().driver());
}

// The program under the shim with its k-th driver call failing.
Result run_failing(Differential& machine, const Ops& ops, unsigned k) {
  Shim& shim = fresh_shim(machine);
  fail_call(k);
  Result result = machine.run(ops, shim);
  if (result.verdict == Result::Verdict::kDisagree) {
    result.problem += ", driver call " + std::to_string(k) + " having failed";
  }
  return result;
}

// A number that follows from the program, below `count`.
unsigned pick(const Ops& ops, unsigned count) {
  Fnv1a hash;
  for (const std::uint8_t byte : encode(ops)) hash.add(std::uint64_t{byte});
  return static_cast<unsigned>(hash.value() % count);
}

}  // namespace

Result run_stacked(Differential& machine, const Ops& ops, Failures failures) {
  Result bare = machine.run(ops);
  if (bare.verdict == Result::Verdict::kDisagree) return bare;
  Result stacked = machine.run(ops, fresh_shim(machine));
  if (stacked.verdict == Result::Verdict::kDisagree) return stacked;
  hold_together(ops, bare, stacked);
  const unsigned count = stacked.calls;
  if (stacked.verdict == Result::Verdict::kDisagree || failures == Failures::kNone || count == 0) {
    return stacked;
  }
  const unsigned first = failures == Failures::kEach ? 1 : 1 + pick(ops, count);
  for (unsigned k = first; k <= count; ++k) {
    Result failed = run_failing(machine, ops, k);
    if (failed.verdict == Result::Verdict::kDisagree) return failed;
    if (failures == Failures::kOne) break;
  }
  return stacked;
}

}  // namespace cuvmm::fuzz
