// SPDX-License-Identifier: Apache-2.0
// Which kinds of hostile luck a seed brings (docs/testing/fail.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// All kinds: those of the emulator's CUVMM_HOSTILE, and "late-streams".
const std::vector<std::string>& hostile_kinds();

/// Those of a seed: about half of them, always the same, never two that exclude each other.
std::vector<std::string> kinds_of_seed(std::uint64_t seed);

/// "poison,no-hints". Throws UsageError, which begins with `option`.
std::vector<std::string> read_kinds(const std::string& option, const std::string& text);

/// Those of a seed, and `more`: of two that exclude each other, the one that was asked for stays.
std::vector<std::string> kinds_of_seed_with(std::uint64_t seed,
                                            const std::vector<std::string>& more);

/// What `--hostile` asks for.
struct Hostile {
  std::string emulator;  ///< for CUVMM_HOSTILE
  std::string streams;   ///< for CUVMM_STREAMS; "" as without
};

/// "7", or "7:poison,no-hints" for these kinds alone. Throws UsageError.
Hostile read_hostile(const std::string& text);

/// "7:poison,no-hints".
std::string hostile_text(std::uint64_t seed, const std::vector<std::string>& kinds);

}  // namespace cuvmm::tools
