// SPDX-License-Identifier: Apache-2.0
#include "tools/work/job.h"

#include <fmt/core.h>

#include <charconv>

#include "conformance/suite/suite.h"

namespace cuvmm::tools {

namespace {

// Reads a whole number without sign; nothing if the text has anything else.
std::optional<long> whole(std::string_view text) {
  long value = 0;
  if (text.empty()) return {};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text[0] == '-') return {};
  return value;
}

constexpr std::string_view kFrom = "-from-";

// "600s" is 600.
std::optional<long> seconds_in(std::string_view text) {
  if (text.empty() || text.back() != 's') return {};
  const auto value = whole(text.substr(0, text.size() - 1));
  return value && *value > 0 ? value : std::nullopt;
}

}  // namespace

std::string Job::label() const {
  switch (kind) {
    case WorkKind::kConformance:
      return "conformance";
    case WorkKind::kPairs:
      return "pairs";
    case WorkKind::kFuzz:
      return fmt::format("fuzz-{}s-{}s", fuzz_seconds, seed_seconds) +
             (first_seed == 1 ? "" : fmt::format("{}{}", kFrom, first_seed));
    case WorkKind::kRecordings:
      return fmt::format("recordings-{}", recordings);
    case WorkKind::kDoctor:
      return "doctor";
    case WorkKind::kBench:
      return "bench";
  }
  return "";
}

std::optional<Job> Job::of_label(std::string_view label) {
  for (const WorkKind kind :
       {WorkKind::kConformance, WorkKind::kPairs, WorkKind::kDoctor, WorkKind::kBench}) {
    Job job{kind};
    if (label == job.label()) return job;
  }
  constexpr std::string_view kRecordings = "recordings-";
  if (label.substr(0, kRecordings.size()) == kRecordings) {
    const auto count = whole(label.substr(kRecordings.size()));
    if (!count || *count < 1) return {};
    return Job{.kind = WorkKind::kRecordings, .recordings = *count};
  }
  constexpr std::string_view kFuzz = "fuzz-";
  std::optional<long> first = 1;
  if (const std::size_t from = label.find(kFrom); from != std::string_view::npos) {
    first = whole(label.substr(from + kFrom.size()));
    if (!first || *first < 2) return {};
    label = label.substr(0, from);
  }
  const std::size_t dash = label.rfind('-');
  if (label.substr(0, kFuzz.size()) != kFuzz || dash < kFuzz.size()) return {};
  const auto all = seconds_in(label.substr(kFuzz.size(), dash - kFuzz.size()));
  const auto each = seconds_in(label.substr(dash + 1));
  if (!all || !each) return {};
  return Job{WorkKind::kFuzz, *all, *each, 0, *first};
}

std::vector<std::string> units(const Job& job) {
  std::vector<std::string> names;
  switch (job.kind) {
    case WorkKind::kConformance:
    case WorkKind::kPairs:
      for (const conformance::Case& each :
           conformance::load_suite("", job.kind == WorkKind::kPairs).cases) {
        names.push_back(each.name);
      }
      break;
    case WorkKind::kFuzz:
      for (long i = 0; i < (job.fuzz_seconds + job.seed_seconds - 1) / job.seed_seconds; ++i) {
        names.push_back(fmt::format("seed-{}", job.first_seed + i));
      }
      break;
    case WorkKind::kRecordings:
      for (long seed = 1; seed <= job.recordings; ++seed)
        names.push_back(fmt::format("recording-{}", seed));
      break;
    case WorkKind::kDoctor:
    case WorkKind::kBench:
      names.push_back(job.label());
  }
  return names;
}

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  const auto index = whole(text.substr(0, slash)), count = whole(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *count > kMostShards || *index > *count) return {};
  return Shard{*index, *count};
}

std::vector<std::string> units_of(const Job& job, const Shard& shard) {
  std::vector<std::string> all = units(job), mine;
  if (job.kind == WorkKind::kDoctor || job.kind == WorkKind::kBench) return all;
  for (std::size_t i = static_cast<std::size_t>(shard.index - 1); i < all.size();
       i += static_cast<std::size_t>(shard.count)) {
    mine.push_back(std::move(all[i]));
  }
  return mine;
}

std::uint64_t seed_of(std::string_view unit) {
  return static_cast<std::uint64_t>(whole(unit.substr(unit.rfind('-') + 1)).value_or(0));
}

}  // namespace cuvmm::tools
