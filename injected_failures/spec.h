// SPDX-License-Identifier: Apache-2.0
// Which calls are to fail, as text: `--fail` and CUVMM_FAIL (docs/testing/fail.md).
//
//   cuMemCreate@3=OUT_OF_MEMORY          the third call, once
//   each@3                               the third call of all that give nothing up
//   cuMemCreate@3+                       the third call and all later ones, with the usual code
//   cuMem*[size=64M..,device=1]          each such call
//   cuMemMap[in=grow]@1..2=INVALID_VALUE the first two calls below a function whose name has "grow"
//   cuMemSetAccess[chance=0.1,seed=7]    each call with this chance
//   cuMemMap=CUDA_ERROR_UNKNOWN!         a code that is not documented for it
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls.h"

namespace cuvmm::injected_failures {

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// A name for all functions that can fail and give nothing up: what `cuvmm fail --each` makes fail.
inline constexpr std::string_view kEachFunction = "each";

/// What is known of a call before it is made.
struct CallFacts {
  std::uint64_t size =
      kNoLimit;     ///< in bytes, of the first parameter that is a size; else kNoLimit
  int device = -1;  ///< of the properties that it is given; -1: it names none
};

/// Some calls that are to fail.
struct Clause {
  /// "cuMemCreate"; `*` stands for any characters, and "each" for all that give nothing up.
  std::string function;
  std::uint64_t first = 1, last = kNoLimit;  ///< which of the calls that all else is true of
  std::uint64_t size_low = 0, size_high = kNoLimit;
  bool sized = false;                 ///< the size counts
  int device = -1;                    ///< -1: any
  std::string in;                     ///< a function of the stack has this in its name; "" any
  std::string file;                   ///< a frame of the stack is in this file ...
  int line = 0;                       ///< ... and line; 0 any
  std::optional<std::uint64_t> site;  ///< the number that `cuvmm fail --each` gives a call site
  double chance = 1;
  std::uint64_t seed = 0;
  std::optional<CUresult> code;  ///< nothing: the usual one of each function
  bool undocumented = false;     ///< `!`: the code need not be documented

  /// Whether its pattern has this function's name.
  bool names(EntryPoint entry) const;
  /// What a call of this function is answered; nothing where it cannot fail so.
  std::optional<CUresult> answer(EntryPoint entry) const;
  /// Whether its conditions about size and device are true of a call.
  bool fits(const CallFacts& facts) const;
  /// Whether the `count`-th call that all else is true of fails.
  bool strikes(std::uint64_t count) const;
  /// Whether it says anything about the call's stack but its site.
  bool asks_for_frames() const { return !in.empty() || !file.empty(); }
};

/// What is wrong with a text, and where.
struct SpecError {
  std::size_t column = 1;  ///< 1-based
  std::string message;     ///< what was expected
  std::string word;        ///< a name that is not known; "" where that is not the problem
};

/// One or several clauses with commas between them. Nothing in `clauses` if there is an error.
struct Spec {
  std::vector<Clause> clauses;
  std::optional<SpecError> error;
};
Spec parse_spec(std::string_view text);

/// `*` in the pattern stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

/// Whether chance lets the `count`-th call fail: the same for the same seed.
bool struck(double chance, std::uint64_t seed, std::uint64_t count);

/// Names of all functions that can be made to fail.
std::vector<std::string> fallible_functions();

}  // namespace cuvmm::injected_failures
