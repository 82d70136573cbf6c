// SPDX-License-Identifier: Apache-2.0
// A deliberate mistake in the emulator, so that a test suite can be judged by whether it notices.
#pragma once

#include <string>
#include <string_view>

#include "rulebook/profile/profile.h"

namespace cuvmm::emulator {

/// CUVMM_MUTATION: "remove RULE-ID" (the rule is not checked) or "code RULE-ID CUDA_ERROR_X" (the
/// rule answers another code); "slip import-copies" (no rule: an import of another process's
/// memory gets a copy of what it holds instead of sharing it) or "slip ipc-copies" (the same of
/// cuIpcOpenMemHandle); "forget ORDER" (no rule: late streams do not wait for what this order, one
/// of kOrders, makes them wait for); "watch FILE" (no mistake: appends a line "PID RULE-ID" to the
/// file when a rule first decides in a process, so that a suite need not try what cannot matter);
/// unset or empty: no mistake.
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
  std::string error;             ///< one line that says what was expected; empty when all is well

  /// The mistake is one about a rule.
  bool of_a_rule() const { return kind == Kind::kRemove || kind == Kind::kCode; }
  bool is_mistake() const { return kind != Kind::kNone && kind != Kind::kWatch; }
  /// Puts the mistake into what the emulator goes by, for every entry point.
  void apply(Profile& profile) const;
  /// Whether the rule that is not checked is among those that a call breaks.
  bool hides_one_of(const Violations& violations) const {
    return kind == Kind::kRemove && hides(violations);
  }

 private:
  bool hides(const Violations& violations) const;
};

/// What "forget" knows: who does not wait.
inline constexpr std::string_view kOrders[] = {
    "stream-order",    ///< work of a stream for what the stream was given before
    "legacy-waits",    ///< the legacy stream for blocking ones
    "blocking-waits",  ///< blocking streams for the legacy one
    "event-wait",      ///< a stream for an event
    "event-record",    ///< an event for what its stream was given before
    "stream-sync",     ///< cuStreamSynchronize
    "event-sync",      ///< cuEventSynchronize
    "context-sync",    ///< cuCtxSynchronize
    "free-waits",      ///< cuMemFree for all work of its context
};

Mutation parse_mutation(std::string_view text);

/// What CUVMM_MUTATION asks for, read once.
const Mutation& mutation();

/// Whether this order is forgotten.
inline bool forgets(std::string_view order) {
  const Mutation& mistake = mutation();
  return mistake.kind == Mutation::Kind::kForget && mistake.order == order;
}

/// A call that only a removed rule let through, and that cannot be performed, answers this: some
/// answer of its own, since the right one would hide the mistake.
inline constexpr CUresult kUnperformed = CUDA_ERROR_UNKNOWN;

}  // namespace cuvmm::emulator
