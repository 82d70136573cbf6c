// SPDX-License-Identifier: Apache-2.0
// The kinds of `--hostile`: each makes the emulator do something rare that a driver is allowed to
// do (docs/testing/fail.md). A seed chooses some of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// All kinds: those of the emulator's CUVMM_HOSTILE, and "late-streams".
const std::vector<std::string>& hostile_kinds();

/// The kinds that `seed` chooses: about half of hostile_kinds(), without those that must be named.
/// A seed always gives the same kinds, at least one, and never two that exclude each other.
std::vector<std::string> kinds_of_seed(std::uint64_t seed);

/// Reads a list such as "poison,no-hints". Throws UsageError, whose text begins with `option`.
std::vector<std::string> read_kinds(const std::string& option, const std::string& text);

/// The kinds that `seed` chooses, and those of `more`. If a kind of `more` excludes a chosen kind,
/// the chosen kind is dropped.
std::vector<std::string> kinds_of_seed_with(std::uint64_t seed,
                                            const std::vector<std::string>& more);

/// The value of `--hostile`.
struct Hostile {
  std::string emulator;  ///< for CUVMM_HOSTILE
  std::string streams;   ///< for CUVMM_STREAMS; "" as without
};

/// Reads "7", or "7:poison,no-hints", which means only these kinds. Throws UsageError.
Hostile read_hostile(const std::string& text);

/// "7:poison,no-hints".
std::string hostile_text(std::uint64_t seed, const std::vector<std::string>& kinds);

}  // namespace cuvmm::tools
