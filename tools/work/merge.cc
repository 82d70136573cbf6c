// SPDX-License-Identifier: Apache-2.0
#include "tools/work/merge.h"
#include "api/fnv1a.h"
#include "api/posix/whole_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <optional>
#include <tuple>

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

// The number whose digits content_hash() would give.
std::uint64_t hash_of(const UnitResult& result) {
  std::string text = result.status;
  for (const std::string& each : result.answers) text += '\n' + each;
  return fnv1a(text);
}

std::vector<std::string> answers_in(const std::string& file, const std::string& unit) {
  const std::string name = fs::path(file).filename().string();
  const ReadResult read = parse_result(whole_file(file).text, name);
  for (const UnitResult& each : read.result.results) {
    if (each.unit != unit) continue;
    return each.answers.empty() ? std::vector<std::string>{each.status} : each.answers;
  }
  return {};
}

}  // namespace

std::uint32_t Merger::Names::of(const std::string& name) {
  const auto [it, added] = ids_.emplace(name, static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(&it->first);
  return it->second;
}

void Merger::refuse(const std::string& path, const std::string& why) {
  merged_.refused.push_back({path, why});
}

void Merger::add(const std::string& path, const std::string& name, const std::string& text) {
  const ReadResult read = parse_result(text, name);
  if (!read.error.empty()) return refuse(path, read.error);
  const ShardResult& result = read.result;
  ++merged_.files;
  const auto file = static_cast<std::uint32_t>(files_.size());
  files_.push_back(path);
  const std::string label = result.job.label();
  shards_[{label, result.shard.count}].insert(result.shard.index);
  const std::uint32_t group = groups_.of(result.stamp.group());
  const std::uint32_t node = nodes_.of(result.stamp.node);
  for (const UnitResult& each : result.results) {
    ++merged_.statuses[each.status];
    ++merged_.groups[result.stamp.group()];
    const std::uint32_t unit = units_.of(label + " " + each.unit);
    const std::optional<double> time = measured_ns(each);
    if (time) measured_.insert(unit);
    rows_.push_back(
        {unit, group, node, file, time ? std::bit_cast<std::uint64_t>(*time) : hash_of(each)});
    if (!each.finding.empty()) find(result, each);
    if (corpus_) merged_.corpus.insert(each.corpus.begin(), each.corpus.end());
  }
}

void Merger::find(const ShardResult& result, const UnitResult& unit) {
  // Different seeds may find one mistake, so the fingerprint leaves out the seed.
  const WorkKind kind = result.job.kind;
  const bool by_seed = kind == WorkKind::kFuzz || kind == WorkKind::kRecordings;
  const std::string about = by_seed ? (kind == WorkKind::kFuzz ? "fuzz" : "recordings")
                                    : result.job.label() + " " + unit.unit;
  const std::string fingerprint = content_hash(about + "\n" + unit.finding);
  MergedFinding& finding = findings_[fingerprint];
  if (finding.count++ == 0) {
    finding.fingerprint = fingerprint;
    finding.unit = unit.unit;
    finding.what = unit.finding;
  }
  if (!unit.program.empty() &&
      (finding.program.empty() || unit.program.size() < finding.program.size())) {
    finding.program = unit.program;
  }
  finding.groups.insert(result.stamp.group());
  finding.nodes.insert(result.stamp.node);
}

// Counts equal answers of one machine to one unit once.
void Merger::drop_repeated() {
  const auto key = [](const Row& row) {
    return std::tie(row.unit, row.group, row.node, row.answers);
  };
  std::sort(rows_.begin(), rows_.end(),
            [&](const Row& a, const Row& b) { return key(a) < key(b); });
  const auto end = std::unique(rows_.begin(), rows_.end(),
                               [&](const Row& a, const Row& b) { return key(a) == key(b); });
  merged_.repeated = static_cast<std::size_t>(rows_.end() - end);
  rows_.erase(end, rows_.end());
  merged_.results = rows_.size();
}

// [first, end) are the rows of one unit and one group. If no answer has more than half of the rows,
// nobody can tell which machines are wrong, and none is an outlier.
void Merger::compare(const Row* first, const Row* end, Differing& differing) {
  std::map<std::uint64_t, std::pair<std::size_t, Row>> answers;
  for (const Row* row = first; row != end; ++row) {
    auto& [count, example] = answers[row->answers];
    if (count++ == 0) example = *row;
  }
  if (answers.size() < 2) return;
  for (const auto& [answer, most] : answers) {
    if (2 * most.first <= static_cast<std::size_t>(end - first)) continue;
    for (const Row* row = first; row != end; ++row) {
      if (row->answers == answer) continue;
      Differences& one = differing[{row->node, row->group}];
      ++one.count;
      if (one.shown.size() < Outlier::kMostShown)
        one.shown.push_back({*row, most.second, most.first});
    }
  }
}

void Merger::compare_times(const Row* first, const Row* end, Differing& differing) {
  constexpr std::size_t kFewest = 4;
  constexpr double kFactor = 2;
  std::vector<double> times;
  std::set<std::uint32_t> nodes;
  for (const Row* row = first; row != end; ++row) {
    times.push_back(std::bit_cast<double>(row->answers));
    nodes.insert(row->node);
  }
  if (nodes.size() < kFewest) return;
  const double usual = median(std::move(times));
  const Row* const example = std::find_if(
      first, end, [&](const Row& row) { return std::bit_cast<double>(row.answers) == usual; });
  for (const Row* row = first; row != end; ++row) {
    const double mine = std::bit_cast<double>(row->answers);
    const bool near = mine < usual * kFactor && mine > usual / kFactor;
    if (near || std::abs(mine - usual) <= Outlier::kLeastDifferenceNs) continue;
    Differences& one = differing[{row->node, row->group}];
    ++one.count;
    if (one.shown.size() < Outlier::kMostShown) one.shown.push_back({*row, *example, nodes.size()});
  }
}

void Merger::find_outliers() {
  Differing differing;
  const Row* const last = rows_.data() + rows_.size();
  for (const Row* first = rows_.data(); first != last;) {
    const Row* const end = std::find_if(first, last, [&](const Row& row) {
      return row.unit != first->unit || row.group != first->group;
    });
    (measured_.contains(first->unit) ? compare_times : compare)(first, end, differing);
    first = end;
  }
  for (const auto& [who, one] : differing) {
    Outlier outlier{nodes_.at(who.first), groups_.at(who.second), {}, one.count};
    for (const Differences::Pair& each : one.shown) {
      const std::string& name = units_.at(each.mine.unit);
      const std::string unit = name.substr(name.find(' ') + 1);
      outlier.differences.push_back({unit, answers_in(files_[each.mine.file], unit),
                                     answers_in(files_[each.theirs.file], unit), each.agreeing});
    }
    merged_.outliers.push_back(std::move(outlier));
  }
  std::stable_sort(merged_.outliers.begin(), merged_.outliers.end(),
                   [](const Outlier& a, const Outlier& b) { return a.count > b.count; });
}

void Merger::find_missing() {
  for (const auto& [job, there] : shards_) {
    for (long index = 1; index <= job.second; ++index) {
      if (!there.contains(index))
        merged_.missing.push_back(job.first + " " + std::to_string(index) + "/" +
                                  std::to_string(job.second));
    }
  }
}

Merged Merger::finish() {
  drop_repeated();
  merged_.cases = units_.size();
  find_outliers();
  find_missing();
  for (auto& [fingerprint, finding] : findings_) merged_.findings.push_back(std::move(finding));
  return std::move(merged_);
}

Merged merge_folder(const std::string& folder, bool corpus) {
  Merger merger(corpus);
  for (const std::string& path : result_paths(folder))
    merger.add(path, fs::path(path).filename().string(), whole_file(path).text);
  return merger.finish();
}

}  // namespace cuvmm::tools
