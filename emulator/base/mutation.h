// SPDX-License-Identifier: Apache-2.0
// A deliberate mistake in the emulator, so that a test suite can be judged by whether it notices
// the mistake.
#pragma once

#include <string>
#include <string_view>

#include "rulebook/profile/profile.h"

namespace cuvmm::emulator {

/// CUVMM_MUTATION: "remove RULE-ID" (the rule is not checked) or "code RULE-ID CUDA_ERROR_X" (the
/// rule answers another code); "slip import-copies" (concerns no rule: an import of another
/// process's memory gets a copy of the contents instead of sharing the memory) or "slip ipc-copies"
/// (likewise for cuIpcOpenMemHandle); "forget ORDER" (concerns no rule: late streams do not wait
/// for the work that this order, one of kOrders, makes them wait for); "watch FILE" (no mistake:
/// appends a line "PID RULE-ID" to the file when a rule first decides in a process, so that a suite
/// need not try mistakes in rules that never decide); unset or empty: no mistake.
struct Mutation {
  enum class Kind : std::uint8_t {
    kNone,
    kRemove,
    kCode,
    kImportCopies,
    kIpcCopies,
    kForget,
    kWatch
  };
  Kind kind = Kind::kNone;
  Rule rule{};
  CUresult code = CUDA_SUCCESS;  ///< for kCode
  std::string file;              ///< for kWatch
  std::string order;             ///< for kForget: one of kOrders
  std::string error;  ///< one line that says which text was expected; empty when the text is valid

  /// Whether the mistake concerns a rule.
  bool of_a_rule() const { return kind == Kind::kRemove || kind == Kind::kCode; }
  bool is_mistake() const { return kind != Kind::kNone && kind != Kind::kWatch; }
  /// Puts the mistake into the profile, which every entry point obeys.
  void apply(Profile& profile) const;
  /// Whether the rule that is not checked is among those that a call breaks.
  bool hides_one_of(const Violations& violations) const {
    return kind == Kind::kRemove && hides(violations);
  }

 private:
  bool hides(const Violations& violations) const;
};

/// The names that "forget" takes, each with the wait that it leaves out.
inline constexpr std::string_view kOrders[] = {
    "stream-order",    ///< work of a stream waits for the work that the stream was given before
    "legacy-waits",    ///< the legacy stream waits for blocking streams
    "blocking-waits",  ///< blocking streams wait for the legacy stream
    "event-wait",      ///< a stream waits for an event
    "event-record",    ///< an event waits for the work that its stream was given before
    "stream-sync",     ///< cuStreamSynchronize waits
    "event-sync",      ///< cuEventSynchronize waits
    "context-sync",    ///< cuCtxSynchronize waits
    "free-waits",      ///< cuMemFree waits for all work of its context
};

Mutation parse_mutation(std::string_view text);

/// The mistake that CUVMM_MUTATION asks for, which is read once.
const Mutation& mutation();

/// Whether the mistake leaves out this wait, one of kOrders.
inline bool forgets(std::string_view order) {
  const Mutation& mistake = mutation();
  return mistake.kind == Mutation::Kind::kForget && mistake.order == order;
}

/// The answer to a call that only a removed rule let through and that cannot be performed: a code
/// that few rules answer, because the right code would hide the mistake.
inline constexpr CUresult kUnperformed = CUDA_ERROR_UNKNOWN;

}  // namespace cuvmm::emulator
