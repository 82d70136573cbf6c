#include "fuzz/stacked.h"

#include <memory>

#include "shim/session.h"

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
    case Rule::kMapPtrAligned:
    case Rule::kAccessPtrAligned:
    case Rule::kAccessSizeAligned:
    case Rule::kDataMapped:
    case Rule::kDataContext:
    case Rule::kImportDescriptorNonzero:
    case Rule::kImportDescriptorValid:
    case Rule::kImportFabricValid:
      return true;
    default:
      return info(rule).kind == RuleKind::kAdvice;
  }
}

class Sink : public shim::FindingSink {
 public:
  void take(shim::Finding finding) override { rules.push_back(finding.violation.rule); }
  std::vector<Rule> rules;  ///< of the last call
};

class Shim {
 public:
  explicit Shim(const Driver& driver)
      : session_(driver, {.enforce = false, .emulated = true}, sink_) {}

  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    sink_.rules.clear();
    return session_.run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }

  const char* judge(const Judgement& judgement, CUresult) {
    if (session_.off()) return "the shim turned itself off";
    bool hit = sink_.rules.empty();
    for (const Rule rule : sink_.rules) {
      // The size of an import is unknown: too much of it and not all of it look the same.
      const bool size = rule == Rule::kMapWholeAllocation && judgement.breaks(Rule::kMapBounds);
      if (size || judgement.breaks(rule)) {
        hit = true;
      } else if (!judgement.foreign) {
        text_ = std::string("a finding without a cause: ") + info(rule).id;
        return text_.c_str();
      }
    }
    if (!sink_.rules.empty() || judgement.foreign) return nullptr;
    for (int i = 0; hit && i < judgement.count; ++i) {
      if (may_be_silent(judgement.broken[i])) continue;
      text_ = std::string("no finding for ") + info(judgement.broken[i]).id;
      return text_.c_str();
    }
    return nullptr;
  }

 private:
  Sink sink_;
  std::string text_;
  shim::Session session_;
};

}  // namespace

Result run_stacked(Differential& machine, const Ops& ops) {
  Result bare = machine.run(ops);
  if (bare.verdict == Result::Verdict::kDisagree) return bare;
  const auto shim = std::make_unique<Shim>(machine.machine().driver());
  Result stacked = machine.run(ops, *shim);
  if (stacked.verdict == Result::Verdict::kDisagree) return stacked;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Answer& a = bare.steps[i].answer;
    const Answer& b = stacked.steps[i].answer;
    // Bytes that nobody wrote may differ from run to run.
    const bool same_value = a.value == b.value || bare.steps[i].judgement.unpredictable;
    if (a.run == b.run && a.result == b.result && same_value) continue;
    stacked.verdict = Result::Verdict::kDisagree;
    stacked.at = i;
    stacked.problem = std::string(shape(ops[i].code).function) + ": " + result_name(a.result) +
                      " bare, " + result_name(b.result) + " under the shim";
    break;
  }
  return stacked;
}

}  // namespace cuvmm::fuzz
