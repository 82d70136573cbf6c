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
/// cuIpcOpenMemHandle); "watch FILE" (no mistake: appends a line "PID RULE-ID" to the file when a
/// rule first decides in a process, so that a suite need not try what cannot matter); unset or
/// empty: no mistake.
struct Mutation {
  enum class Kind : std::uint8_t { kNone, kRemove, kCode, kImportCopies, kIpcCopies, kWatch };
  Kind kind = Kind::kNone;
  Rule rule{};
  CUresult code = CUDA_SUCCESS;  ///< for kCode
  std::string file;              ///< for kWatch
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

Mutation parse_mutation(std::string_view text);

/// What CUVMM_MUTATION asks for, read once.
const Mutation& mutation();

/// A call that only a removed rule let through, and that cannot be performed, answers this: some
/// answer of its own, since the right one would hide the mistake.
inline constexpr CUresult kUnperformed = CUDA_ERROR_UNKNOWN;

}  // namespace cuvmm::emulator
