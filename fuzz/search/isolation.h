// SPDX-License-Identifier: Apache-2.0
// Runs programs in child processes, so that a crash, a hang or a damaged driver does no harm to the
// search.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// What to run programs on. The driver is loaded in the children only.
struct Target {
  std::string driver;   ///< path of a libcuda
  std::string profile;  ///< the name or path of what it behaves as
  DifferentialOptions options;
  bool shim = false;  ///< judge the shim stacked on it, too
  int processes = 1;  ///< of the programs that a search makes
};

/// A program that shows a disagreement, or kills its process.
struct Finding {
  Ops ops;
  std::string problem;  ///< "op 3, cuMemMap answered ..."; "signal:SIGSEGV"
};

/// Runs one program in a child of its own; nothing when all is as it should be.
std::optional<Finding> try_program(const Target& target, const Ops& ops);

/// Runs the program in a child to learn its answers; its text with them. Without where it dies.
std::string annotated_text(const Target& target, const Ops& ops);

/// What a search did.
struct Hunt {
  std::optional<Finding> finding;
  Statistics statistics;
  double seconds = 0;
  std::string error;      ///< the driver could not be used
  std::vector<Ops> kept;  ///< programs of which each showed something new, in the order found
};

/// Generates and mutates programs in one child until one disagrees or the time is up. Programs
/// whose answers and broken rules are new are kept and varied. `start` is what it begins with.
Hunt hunt(const Target& target, std::uint64_t seed, std::chrono::milliseconds time,
          const std::vector<Ops>& start = {});

/// A few programs that between them show every answer and broken rule, call by call, that `found`
/// shows; each shortened to what the others do not show. Runs in a child.
std::vector<Ops> minimise(const Target& target, const std::vector<Ops>& found);

}  // namespace cuvmm::fuzz
