// SPDX-License-Identifier: Apache-2.0
// What a fleet has to do: a list of units, and the part of it that one shard is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

enum class WorkKind { kConformance, kPairs, kFuzz, kRecordings, kDoctor, kBench };

/// Everything that the units follow from. Two machines with the same job have the same units.
struct Job {
  WorkKind kind = WorkKind::kConformance;
  long fuzz_seconds = 0;  ///< of all seeds together
  long seed_seconds = 10;
  long recordings = 0;
  long first_seed = 1;  ///< of a search

  /// "conformance", "pairs", "fuzz-3600s-10s", "fuzz-3600s-10s-from-361", "recordings-100",
  /// "doctor", "bench": names files.
  std::string label() const;
  /// The job of a label; nothing for any other text.
  static std::optional<Job> of_label(std::string_view label);
};

/// The names of all units, in the order in which shards take turns to get them. A doctor or a bench
/// is done once by each shard: the list has one unit.
std::vector<std::string> units(const Job& job);

/// The index-th of `count` parts, from 1.
struct Shard {
  long index = 1;
  long count = 1;
};
inline constexpr long kMostShards = 100'000'000;
/// "3/100"; nothing for any other text.
std::optional<Shard> parse_shard(std::string_view text);

/// Every count-th unit: neighbours, which take about as long, go to different shards.
std::vector<std::string> units_of(const Job& job, const Shard& shard);

/// "seed-17" is 17.
std::uint64_t seed_of(std::string_view unit);

}  // namespace cuvmm::tools
