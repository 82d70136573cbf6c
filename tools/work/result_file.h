// SPDX-License-Identifier: Apache-2.0
// The file with the results of one shard. Equal results give equal bytes and an equal name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/base/json.h"
#include "tools/work/job.h"

namespace cuvmm::tools {

/// The machine and driver of the results. The stamp has no host name and no serial number: `node`
/// is a pseudonym, or the name that the user gave to the machine.
struct Stamp {
  std::string cuvmm;   ///< version
  std::string driver;  ///< version; "" without a kernel module; for the emulator, its profile
  int cuda = 0;        ///< answer of cuDriverGetVersion
  std::string gpu;     ///< name of device 0
  int devices = 0;
  bool emulated = false;
  std::string image;               ///< the user's name of the container; "": none
  std::string node;                ///< "node-1a2b3c4d"
  std::vector<std::string> lacks;  ///< the doctor's checks that do not work here

  /// Machines of one group should give the same results.
  std::string group() const;
  bool operator==(const Stamp&) const = default;
};

/// The result of one unit.
struct UnitResult {
  std::string unit;
  std::string status;                 ///< "pass", "deviation", "agreed", "found", "works", ...
  std::string finding;                ///< the trouble, in one line; "": none
  std::vector<std::string> answers;   ///< the observations; a merge compares them between machines
  std::string program;                ///< program text that shows the finding; "": none
  std::vector<std::string> corpus{};  ///< program texts that a search kept for the corpus
};

struct ShardResult {
  Job job;
  Shard shard;
  Stamp stamp;
  std::vector<UnitResult> results;
};

/// result_json() makes one line of JSON of a result, and parse_unit() reads it back; parse_unit()
/// throws nlohmann::json::exception.
Json result_json(const UnitResult& result);
UnitResult parse_unit(const Json& json);
Json stamp_json(const Stamp& stamp);
Stamp parse_stamp(const Json& json);

std::string format_result(const ShardResult& result);
/// 64 bits of FNV-1a, as 16 digits. The hash reveals damage, but not malice (see `cuvmm work
/// check`).
std::string content_hash(std::string_view text);

/// shard_name(): "conformance-0003-of-0100". result_name(): the name of the file, which is the
/// shard's name and the hash of the text.
std::string shard_name(const Job& job, const Shard& shard);
std::string result_name(const ShardResult& result, std::string_view text);
/// The folder of the shard's file, below the folder of results. Shards have different folders, so
/// that no folder gets too full.
std::string shard_folder(const Job& job, const Shard& shard);

/// Every *.json below the folder, sorted by name.
std::vector<std::string> result_paths(const std::string& folder);

/// 580.0 if the unit's answer is "580.0 ns", as for a measurement. Nothing for any other unit.
std::optional<double> measured_ns(const UnitResult& result);
/// `values` has at least one value. For an even number of values: the larger of the middle two.
double median(std::vector<double> values);

struct ReadResult {
  ShardResult result;
  std::string
      error;  ///< "expected ..." with line and column, or how the file's name contradicts the text
};
/// `name`: the file's name without folders.
ReadResult parse_result(const std::string& text, const std::string& name);

}  // namespace cuvmm::tools
