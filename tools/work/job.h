// SPDX-License-Identifier: Apache-2.0
// A fleet's job is a list of units; a shard is a part of that list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

enum class WorkKind { kConformance, kPairs, kFuzz, kRecordings, kDoctor, kBench };

/// The list of units follows from these members alone, so two machines with an equal job have equal
/// units.
struct Job {
  WorkKind kind = WorkKind::kConformance;
  long fuzz_seconds = 0;  ///< of all seeds together
  long seed_seconds = 10;
  long recordings = 0;
  long first_seed = 1;  ///< of a search

  /// "conformance", "pairs", "fuzz-3600s-10s", "fuzz-3600s-10s-from-361", "recordings-100",
  /// "doctor", "bench". Names of files have the label.
  std::string label() const;
  /// The job with that label; nothing if no job has it.
  static std::optional<Job> of_label(std::string_view label);
};

/// The names of all units. Unit i belongs to shard i modulo count (see units_of()). For a doctor or
/// a bench, the list has one unit, which every shard does.
std::vector<std::string> units(const Job& job);

/// The part number `index` of `count` parts; 1 <= index <= count <= kMostShards.
struct Shard {
  long index = 1;
  long count = 1;
};
inline constexpr long kMostShards = 100'000'000;
/// Reads "3/100"; nothing for any other text.
std::optional<Shard> parse_shard(std::string_view text);

/// Every count-th unit. Neighbours in the list take about equally long, so they go to different
/// shards.
std::vector<std::string> units_of(const Job& job, const Shard& shard);

/// "seed-17" is 17.
std::uint64_t seed_of(std::string_view unit);

}  // namespace cuvmm::tools
