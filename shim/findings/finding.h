// SPDX-License-Identifier: Apache-2.0
// One mistake of the program, with all facts that a report gives about it.
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
  std::optional<Answer> answer;  ///< nullopt for a finding that is made at exit
  std::uint64_t call_index = 0;  ///< 0: the finding was made at exit
  /// The purpose of the call (shim/findings/purpose.h), for advice: a later call may serve it.
  std::uint64_t purpose = 0;
  /// A number for a place inside of a kernel: findings of different places are different findings.
  std::uint64_t place = 0;
  StackId stack = 0;  ///< of the call; for a finding that is made at exit, of the object's maker
  /// For a leak: the shared memory that the object keeps alive, by a name that other processes use
  /// for it too.
  std::string memory;

  // Facts that the program gave through include/cuvmm/cuvmm.h (shim/labels/labels.h); most programs
  // give none.
  std::uint64_t period = 0;  ///< findings of different periods are different findings
  bool quiet = false;        ///< the program asked for a quiet scope
  std::string scope;         ///< the scope in which the finding came, "" none
  /// Empty, or one for each of violation.objects: their names, and the scopes in which they were
  /// made.
  std::vector<std::string> names, made_in;

  RuleKind kind() const { return kind_of(violation, answer); }
  /// Whether this is advice about a call that the driver refused: whether it matters depends on the
  /// program's next calls.
  bool probe() const {
    return kind() == RuleKind::kAdvice && answer && !answer->crashed &&
           answer->result != CUDA_SUCCESS;
  }
};

/// Adds the facts to a finding that the program gave about it.
class Labeller {
 public:
  virtual ~Labeller() = default;
  /// The number of its occurrences that the program expects: these are no findings.
  virtual std::uint64_t take_expected(const Finding& finding) = 0;
  /// Whether the finding came outside of the part of the program that the user wants to look at.
  virtual bool left_out(const Finding&) { return false; }
  /// Fills in the finding's period, scope and names.
  virtual void label(Finding& finding) = 0;
};

/// Receives findings.
class FindingSink {
 public:
  virtual ~FindingSink() = default;
  /// Called without any lock of the session, on the thread that made the call.
  virtual void take(Finding finding) = 0;
  /// Counts a refusal that is known already. Returns false if no such refusal was counted before:
  /// then the caller passes all facts to take_refusal().
  virtual bool fold_refusal(EntryPoint, CUresult, bool /*late*/, StackId, Refusal::Purpose) {
    return true;
  }
  virtual void take_refusal(const Refusal&) {}
  /// Whether advice about a refused call of this entry point waits for a call that gets the memory
  /// which it wanted. Must be cheap, because advice may wait until the process ends.
  virtual bool waits(EntryPoint) const { return true; }
  /// A call succeeded that may have got the memory which refused calls wanted. Returns whether
  /// advice still waits for such a call.
  virtual bool fell_back(EntryPoint, Refusal::Purpose) { return false; }
};

}  // namespace cuvmm::shim
