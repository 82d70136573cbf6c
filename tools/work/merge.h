// SPDX-License-Identifier: Apache-2.0
// All results of a folder as one: what was found, by whom, and what is missing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/work/result_file.h"

namespace cuvmm::tools {

/// The same mistake, wherever it was seen.
struct MergedFinding {
  std::string fingerprint;  ///< 16 digits: of the job, the unit and what is wrong
  std::string unit;
  std::string what;
  std::string program;  ///< the shortest that shows it; "" none
  std::set<std::string> groups, nodes;
  std::size_t count = 0;
};

/// A machine that answers otherwise than most of its peers: same driver, GPU and number of them. Or
/// one that takes less than half, or more than twice the time of its peers' median for a call,
/// where there are three of them and the difference is more than kLeastDifferenceNs.
struct Outlier {
  std::string node, group;
  struct Difference {
    std::string unit;
    std::vector<std::string> answers, peers;
    std::size_t agreeing = 0;  ///< how many peers answer alike
  };
  std::vector<Difference> differences;  ///< at most kMostShown
  std::size_t count = 0;                ///< of all of them
  static constexpr std::size_t kMostShown = 20;
  static constexpr double kLeastDifferenceNs = 100;
};

/// A file that is no result, or not a whole one.
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

/// Takes file after file. What it keeps of a result is 24 bytes, and of each unit its name.
class Merger {
 public:
  /// With `corpus` it also keeps the programs of searches.
  explicit Merger(bool corpus = false) : corpus_(corpus) {}
  /// A file's text; `name` is without folders, `path` for messages.
  void add(const std::string& path, const std::string& name, const std::string& text);
  void refuse(const std::string& path, const std::string& why);
  /// Reads files again where answers must be shown.
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

  /// What one machine answers otherwise than its peers.
  struct Odd {
    struct Pair {
      Row mine, theirs;
      std::size_t agreeing;
    };
    std::vector<Pair> shown;
    std::size_t count = 0;
  };
  using OddOnes = std::map<std::pair<std::uint32_t, std::uint32_t>, Odd>;  // by node and group

  void find(const ShardResult& result, const UnitResult& unit);
  void drop_repeated();
  void find_outliers();
  static void compare(const Row* first, const Row* end, OddOnes& odd);
  static void compare_times(const Row* first, const Row* end, OddOnes& odd);
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

/// Every *.json below the folder, in the order of their names.
Merged merge_folder(const std::string& folder, bool corpus = false);

/// {"cases", "results", "files", "repeated", "statuses", "groups", "missing", "findings",
/// "outliers", "refused"}
std::string merged_json(const Merged& merged);
std::string merged_text(const Merged& merged);

}  // namespace cuvmm::tools
