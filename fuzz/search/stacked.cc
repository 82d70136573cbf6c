// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/stacked.h"

#include <cstring>
#include <optional>

#include "api/fnv1a.h"
#include "fuzz/ops/layout.h"
#include "shim/session/session_run.h"

namespace cuvmm::fuzz {

namespace {

// Rules that the shim cannot judge for sure, so that no finding is right too: the free memory, the
// machine's features, and values that another route may have made.
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
    case Rule::kArrayHandleValid:
    case Rule::kMapPtrReserved:
    case Rule::kUnmapPtrReserved:
    case Rule::kAccessMapped:
    case Rule::kGetAccessMapped:
    case Rule::kRetainAddrMapped:
    case Rule::kFreeExact:
    case Rule::kRangeOneDevice:
    case Rule::kMapBounds:  // for an import, whose size the shim does not know
    case Rule::kMcBindInsideMemory:
    case Rule::kMapPtrAligned:
    case Rule::kAccessPtrAligned:
    case Rule::kAccessSizeAligned:
    case Rule::kDataMapped:
    case Rule::kDataContext:
    case Rule::kImportDescriptorNonzero:
    case Rule::kImportDescriptorValid:
    case Rule::kImportFabricValid:
    case Rule::kPoolAllocContext:   // asking the driver for each allocation would cost too much
    case Rule::kIpcFreedWhileOpen:  // another process has the memory open
    case Rule::kPoolTakeAlive:      // only the driver knows the meaning of a pointer's data
    case Rule::kPoolTakeData:
    case Rule::kPoolSetLocal:  // the location of a default pool
    case Rule::kPlaceSetMatches:
    case Rule::kEpImportValid:  // only the driver knows the meaning of an endpoint's bytes
      return true;
    default:
      return info(rule).kind == RuleKind::kAdvice;
  }
}

// The size of another process's allocation, the kind of an imported endpoint, other processes'
// calls on it, memory that ended where other memory is now, and addresses beyond all reservations.
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
    case Rule::kDataAlive:
    case Rule::kDataFillAligned:
    case Rule::kDataInside:
      return true;
    default:
      return false;
  }
}

bool of_host_import(Rule rule) {
  return rule == Rule::kDataPoolOnHost || rule == Rule::kDataPoolAccess;
}

bool of_access(Rule rule) { return rule == Rule::kDataReadable || rule == Rule::kDataWritable; }

// Whether the shim cannot tell the mistake that it found from the one that was made.
bool looks_alike(Rule found, const Judgement& judgement) {
  switch (found) {
    case Rule::kMapWholeAllocation:  // the size of an import is unknown: too much, or not all
      return judgement.breaks(Rule::kMapBounds);
    case Rule::kPoolImportDescriptor:  // another process's export of any kind is no pool
      return judgement.unseen && judgement.breaks(Rule::kPoolImportKind);
    case Rule::kImportDescriptorOwned:  // the number came back by another process, and was closed
                                        // again
      return judgement.unseen && judgement.breaks(Rule::kImportDescriptorValid);
    case Rule::kExtImportFdValid:  // the shim knows nothing of another process's export
      return judgement.unseen && judgement.has(Quirk::kExtCompressedElsewhere);
    case Rule::kExtImportFdOwned:
      return judgement.unseen && (judgement.breaks(Rule::kExtImportFdValid) ||
                                  judgement.has(Quirk::kExtCompressedElsewhere));
    case Rule::kCreatePcieRdma:  // a bit that newer drivers know, among bits that none knows
      return judgement.breaks(Rule::kCreateUsageKnown);
    case Rule::kStreamCapture:  // the shim here has no driver to ask which streams have joined
      return judgement.breaks(Rule::kStreamCaptureWait);
    case Rule::kEpAddOnce:  // the shim knows neither an import's kind nor other processes' calls on
                            // it
    case Rule::kEpBindImported:
    case Rule::kEpBindVacant:
    case Rule::kFcEndpointBound:
      return judgement.unseen && !judgement.legal();
    case Rule::kPoolTakeData:  // the bytes of freed memory may stand for none
      return judgement.breaks(Rule::kPoolTakeAlive);
    case Rule::kIpcOpenAlive:  // the bytes of another object, or of freed memory
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
  bool guesses = true;      ///< whether uncertain findings count
  std::vector<Rule> rules;  ///< rules of the last call
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
    // The reason of a failure that was forced may be anything. If it was a question of the shim's
    // own, the shim has learned less, and may be silent from then on.
    const bool failed = call_failed() && !failed_before_;
    failed_before_ = call_failed();
    if (failed && answer != CUDA_ERROR_OUT_OF_MEMORY) blind_ = true, sink_.guesses = false;
    if (failed) return nullptr;
    // Where a driver sets the access of a part only, the shim cannot know which part.
    partly_ = partly_ || (judgement.breaks(Rule::kAccessHole) && answer == CUDA_SUCCESS) ||
              (judgement.breaks(Rule::kAccessHostLocation) && answer == CUDA_ERROR_NOT_SUPPORTED);
    bool hit = sink_.rules.empty();
    // A shim can only guess why a driver refuses a call that it may refuse.
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
      if (judgement.host_import && of_host_import(rule)) continue;
      // A refusal with another code than the one that drivers were seen to answer has another
      // cause.
      const bool other = answer != CUDA_SUCCESS && answer != info(rule).code;
      if (other && info(rule).basis == CodeBasis::kObserved) continue;
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

// Finds the first call of the program with another answer under the shim.
void hold_together(const Ops& ops, const Result& bare, Result& stacked) {
  const bool two = processes_of(ops) > 1;
  Layout layout;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Answer& a = bare.steps[i].answer;
    const Answer& b = stacked.steps[i].answer;
    // Bytes that no call wrote may differ between runs.
    const bool same_value = a.value == b.value || bare.steps[i].judgement.unpredictable;
    const bool same = a.run == b.run && a.result == b.result && same_value;
    // Another process's number may be valid here by chance, in one of the two runs.
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

// Sessions share one place, one at a time, because a session has more than a megabyte, which each
// program would map and unmap.
Shim& fresh_shim(Differential& machine) {
  static auto& only = *new std::optional<Shim>;
  return only.emplace(machine.machine().driver());
}

// Runs the program under the shim, with its k-th driver call failing.
Result run_failing(Differential& machine, const Ops& ops, unsigned k) {
  Shim& shim = fresh_shim(machine);
  fail_call(k);
  Result result = machine.run(ops, shim);
  if (result.verdict == Result::Verdict::kDisagree) {
    result.problem += ", driver call " + std::to_string(k) + " having failed";
  }
  return result;
}

// Runs the program bare and under the shim, and compares the answers.
Result run_twice(Differential& machine, const Ops& ops) {
  Result bare = machine.run(ops);
  if (bare.verdict == Result::Verdict::kDisagree) return bare;
  Result stacked = machine.run(ops, fresh_shim(machine));
  if (stacked.verdict != Result::Verdict::kDisagree) hold_together(ops, bare, stacked);
  return stacked;
}

}  // namespace

Share share_of(const Ops& ops) {
  constexpr unsigned kShares = 4;
  Fnv1a hash;
  for (const Op& op : ops) {
    std::uint64_t words[sizeof op / sizeof(std::uint64_t)];
    std::memcpy(words, &op, sizeof op);
    for (const std::uint64_t word : words) hash.add(word);
  }
  // A multiplication changes no bit by the bits above it, so the high bits go once more below.
  hash.add(hash.value() >> 32);
  const std::uint64_t high = hash.value() >> 32;
  Share share;
  share.bare = high % kShares == 0;
  // The shim's own questions are driver calls, too. A number past the last call lets none fail.
  if (high % kShares == 1)
    share.failing = 1 + static_cast<unsigned>(high / kShares % (ops.size() + ops.size() / 4 + 1));
  return share;
}

Result run_share(Differential& machine, const Ops& ops) {
  const Share share = share_of(ops);
  if (share.failing != 0) return run_failing(machine, ops, share.failing);
  return share.bare ? run_twice(machine, ops) : machine.run(ops, fresh_shim(machine));
}

Result run_stacked(Differential& machine, const Ops& ops) {
  Result stacked = run_twice(machine, ops);
  for (unsigned k = 1; k <= stacked.calls; ++k) {
    if (stacked.verdict == Result::Verdict::kDisagree) break;
    Result failed = run_failing(machine, ops, k);
    if (failed.verdict == Result::Verdict::kDisagree) return failed;
  }
  return stacked;
}

}  // namespace cuvmm::fuzz
