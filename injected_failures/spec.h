// SPDX-License-Identifier: Apache-2.0
// The calls that are to fail, as text: `--fail` and CUVMM_FAIL (docs/testing/fail.md).
//
//   cuMemCreate@3=OUT_OF_MEMORY          the third call, once
//   each@3                               the third call of all that give nothing up
//   cuMemCreate@3+                       the third call and all later ones, with the usual code
//   cuMem*[size=64M..,device=1]          each such call
//   cuMemMap[in=grow]@1..2=INVALID_VALUE the first two calls below a function whose name has "grow"
//   cuMemSetAccess[chance=0.1,seed=7]    each call with this chance
//   cuMemMap=CUDA_ERROR_UNKNOWN!         a code that is not documented for the function
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls.h"

namespace cuvmm::injected_failures {

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// A name for all functions that can fail and give nothing up: `cuvmm fail --each` makes these
/// fail.
inline constexpr std::string_view kEachFunction = "each";

/// The facts about a call that are known before the driver gets it.
struct CallFacts {
  std::uint64_t size = kNoLimit;  ///< bytes, of the first parameter that is a size; else kNoLimit
  int device = -1;                ///< of the properties that the call names; -1: it names no device
};

/// Some calls that are to fail, and their answer.
struct Clause {
  /// "cuMemCreate"; `*` stands for any characters, "each" for all functions that give nothing up.
  std::string function;
  /// Numbers among the calls that meet all other conditions.
  std::uint64_t first = 1, last = kNoLimit;
  std::uint64_t size_low = 0, size_high = kNoLimit;
  bool sized = false;                 ///< the clause has a condition about the size
  int device = -1;                    ///< -1: any
  std::string in;                     ///< a function of the stack has this in its name; "" any
  std::string file;                   ///< a frame of the stack is in this file ...
  int line = 0;                       ///< ... and line; 0 any
  std::optional<std::uint64_t> site;  ///< the number that `cuvmm fail --each` gives a call site
  double chance = 1;
  std::uint64_t seed = 0;
  std::optional<CUresult> code;  ///< nothing: each function's usual code
  bool undocumented = false;     ///< `!`: the code need not be documented

  /// Whether `function` matches the name of this entry point.
  bool names(EntryPoint entry) const;
  /// The answer for a call of this function; nothing if the function cannot fail with the code.
  std::optional<CUresult> answer(EntryPoint entry) const;
  /// Whether the call meets the conditions about size and device.
  bool fits(const CallFacts& facts) const;
  /// Whether the clause makes the `count`-th call that meets all other conditions fail.
  bool strikes(std::uint64_t count) const;
  /// Whether the clause has a condition about the call's stack other than `site`.
  bool asks_for_frames() const { return !in.empty() || !file.empty(); }
};

/// A mistake in a text, and its place.
struct SpecError {
  std::size_t column = 1;  ///< 1-based
  std::string message;     ///< what was expected
  std::string word;        ///< an unknown name; "" if the mistake is another
};

/// One clause, or several with commas between them. `clauses` is empty if there is an error.
struct Spec {
  std::vector<Clause> clauses;
  std::optional<SpecError> error;
};
Spec parse_spec(std::string_view text);

/// `*` in the pattern stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

/// Whether chance makes the `count`-th call fail. The answer depends on the arguments only.
bool struck(double chance, std::uint64_t seed, std::uint64_t count);

/// Names of all functions that cuvmm can make fail.
std::vector<std::string> fallible_functions();

}  // namespace cuvmm::injected_failures
