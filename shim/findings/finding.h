// SPDX-License-Identifier: Apache-2.0
// One thing that the program did wrong, with all that a report says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/print.h"
#include "rulebook/base/violation.h"
#include "shim/findings/judge.h"
#include "shim/refusals/refusal.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

struct Finding {
  Violation violation;
  EntryPoint entry = EntryPoint::kCount;  ///< the call at fault; kCount: none, or at exit
  const char* runtime = nullptr;          ///< the runtime's function that made the call, or null
  std::vector<ArgumentText> arguments;
  std::optional<Answer> answer;  ///< nothing for what is found at exit
  std::uint64_t call_index = 0;  ///< 0: found at exit
  /// What the call wanted (shim/findings/purpose.h), for advice: a later call may get it.
  std::uint64_t purpose = 0;
  StackId stack = 0;  ///< of the call; of the object's maker for what is found at exit
  /// Of a leak: the shared memory that it keeps, by a name that other processes have for it too.
  std::string memory;

  // What the program said through include/cuvmm/cuvmm.h (shim/labels/labels.h); mostly nothing.
  std::uint64_t period = 0;  ///< findings of different ones are different findings
  bool quiet = false;        ///< the program shows it
  std::string scope;         ///< in which it came, "" none
  /// As violation.objects, or empty: their names, and the scopes in which they were made.
  std::vector<std::string> names, made_in;

  RuleKind kind() const { return kind_of(violation, answer); }
  /// Advice about a call that the driver refused: whether it matters depends on what the program
  /// does next.
  bool probe() const {
    return kind() == RuleKind::kAdvice && answer && !answer->crashed &&
           answer->result != CUDA_SUCCESS;
  }
};

/// What the program said that bears on a finding.
class Labeller {
 public:
  virtual ~Labeller() = default;
  /// How many of its occurrences the program expects: these are no findings.
  virtual std::uint64_t take_expected(const Finding& finding) = 0;
  /// Whether it came outside of what the user wants to look at.
  virtual bool left_out(const Finding&) { return false; }
  /// Fills in its period, scope and names.
  virtual void label(Finding& finding) = 0;
};

/// Where findings go.
class FindingSink {
 public:
  virtual ~FindingSink() = default;
  /// Called without any lock of the session's, on the thread that made the call.
  virtual void take(Finding finding) = 0;
  /// Counts a refusal that is known by now. False: nothing like it was seen, and all that is known
  /// of it is wanted, by take_refusal().
  virtual bool fold_refusal(EntryPoint, CUresult, bool /*late*/, StackId, Refusal::Purpose) {
    return true;
  }
  virtual void take_refusal(const Refusal&) {}
  /// Whether a refused call of this entry point waits for one that gets what it wanted. Cheap: some
  /// wait for ever.
  virtual bool waits(EntryPoint) const { return true; }
  /// A call succeeded that may have got what refused ones wanted. Whether others still wait for
  /// such a call.
  virtual bool fell_back(EntryPoint, Refusal::Purpose) { return false; }
};

}  // namespace cuvmm::shim
