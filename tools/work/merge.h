// SPDX-License-Identifier: Apache-2.0
// Merges all results of a folder: the findings, the machines that have them, and missing shards.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/work/result_file.h"

namespace cuvmm::tools {

/// One mistake, with all machines that found it.
struct MergedFinding {
  std::string fingerprint;  ///< 16 digits: a hash of the job, the unit and `what`
  std::string unit;
  std::string what;
  std::string program;  ///< the shortest program that shows it; "": none
  std::set<std::string> groups, nodes;
  std::size_t count = 0;
};

/// A machine whose answers differ from those of most of its peers (machines with an equal driver,
/// GPU and number of GPUs). For a measured call: a machine that takes less than half or more than
/// twice its peers' median, if there are at least three of them and the difference is more than
/// kLeastDifferenceNs.
struct Outlier {
  std::string node, group;
  struct Difference {
    std::string unit;
    std::vector<std::string> answers, peers;
    std::size_t agreeing = 0;  ///< number of peers that gave the answer `peers`
  };
  std::vector<Difference> differences;  ///< at most kMostShown
  std::size_t count = 0;                ///< number of all differences
  static constexpr std::size_t kMostShown = 20;
  static constexpr double kLeastDifferenceNs = 100;
};

/// A file that is no result, or is damaged.
struct Refused {
  std::string file, why;
};

struct Merged {
  std::size_t files = 0, results = 0, cases = 0, repeated = 0;
  std::map<std::string, std::size_t> statuses;
  std::map<std::string, std::size_t> groups;  ///< results by group
  std::vector<MergedFinding> findings;
  std::vector<Outlier> outliers;
  std::vector<std::string> missing;  ///< "conformance 3/100"
  std::vector<Refused> refused;
  std::set<std::string> corpus;  ///< the programs that searches kept, each once
};

/// Merges file after file. The merger stores 24 bytes per result and each unit's name once, so that
/// it can merge many files.
class Merger {
 public:
  /// `corpus`: also collect the programs of searches.
  explicit Merger(bool corpus = false) : corpus_(corpus) {}
  /// Adds a file. `text`: its content; `name`: its name without folders; `path`: used in messages.
  void add(const std::string& path, const std::string& name, const std::string& text);
  void refuse(const std::string& path, const std::string& why);
  /// Returns the merged results. Reads files of outliers again, to show their answers.
  Merged finish();

 private:
  struct Row {
    std::uint32_t unit, group, node, file;
    std::uint64_t answers;  ///< hash; of what was measured, the bits of a double: nanoseconds
  };
  class Names {
   public:
    std::uint32_t of(const std::string& name);
    const std::string& at(std::uint32_t id) const { return *texts_[id]; }
    std::size_t size() const { return texts_.size(); }

   private:
    std::unordered_map<std::string, std::uint32_t> ids_;
    std::vector<const std::string*> texts_;
  };

  /// The answers of one machine that differ from its peers'.
  struct Differences {
    struct Pair {
      Row mine, theirs;
      std::size_t agreeing;
    };
    std::vector<Pair> shown;
    std::size_t count = 0;
  };
  using Differing =
      std::map<std::pair<std::uint32_t, std::uint32_t>, Differences>;  // by node and group

  void find(const ShardResult& result, const UnitResult& unit);
  void drop_repeated();
  void find_outliers();
  static void compare(const Row* first, const Row* end, Differing& differing);
  static void compare_times(const Row* first, const Row* end, Differing& differing);
  void find_missing();

  bool corpus_;
  Merged merged_;
  std::vector<Row> rows_;
  std::set<std::uint32_t> measured_;  ///< units
  Names units_, groups_, nodes_;
  std::vector<std::string> files_;
  std::map<std::string, MergedFinding> findings_;
  std::map<std::pair<std::string, long>, std::set<long>> shards_;  ///< by job and count
};

/// Merges every *.json below the folder, sorted by name.
Merged merge_folder(const std::string& folder, bool corpus = false);

/// {"cases", "results", "files", "repeated", "statuses", "groups", "missing", "findings",
/// "outliers", "refused"}
std::string merged_json(const Merged& merged);
std::string merged_text(const Merged& merged);

}  // namespace cuvmm::tools
