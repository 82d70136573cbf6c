// SPDX-License-Identifier: Apache-2.0
// Runs programs in child processes, so that a crash, a hang or a damaged driver does not end the
// search.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fuzz/search/differential.h"

namespace cuvmm::fuzz {

/// The driver on which programs run. Only children load it.
struct Target {
  std::string driver;   ///< path of a libcuda
  std::string profile;  ///< name or path of the profile by which the driver is judged
  DifferentialOptions options;
  bool shim = false;  ///< also judge the shim on top of the driver
  int processes = 1;  ///< processes of the programs that a search makes
};

/// A program that shows a disagreement, or kills its process.
struct Finding {
  Ops ops;
  std::string problem;  ///< "op 3, cuMemMap answered ..."; "signal:SIGSEGV"
};

/// Runs one program in its own child; nothing where no problem was found.
std::optional<Finding> try_program(const Target& target, const Ops& ops);
/// Runs the programs one after the other in one child, until one disagrees or kills the child.
std::optional<Finding> try_programs(const Target& target, const std::vector<Ops>& programs);

/// Runs the program in a child and returns its text with the answers. Without answers where the
/// child dies.
std::string annotated_text(const Target& target, const Ops& ops);

/// The result of a search.
struct Hunt {
  std::optional<Finding> finding;
  /// With a finding: the last programs in their order, as bytes; the last one shows the finding.
  std::vector<std::vector<std::uint8_t>> last;
  Statistics statistics;
  double seconds = 0;
  std::string error;                   ///< the driver could not be used
  std::vector<Ops> with_new_features;  ///< programs of which each showed a new feature, in order
};

/// Generates and mutates programs in one child until one disagrees or the time is up. Keeps and
/// varies programs whose answers and broken rules are new. Begins with `start`.
Hunt hunt(const Target& target, std::uint64_t seed, std::chrono::milliseconds time,
          const std::vector<Ops>& start = {});

/// A few programs that together show every answer and broken rule, call by call, that `found`
/// shows; each is shortened to the features that the others do not show. Runs in a child.
std::vector<Ops> minimise(const Target& target, const std::vector<Ops>& found);

}  // namespace cuvmm::fuzz
