// SPDX-License-Identifier: Apache-2.0
// What one shard found, as a file: the same results give the same bytes and the same name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/base/json.h"
#include "tools/work/job.h"

namespace cuvmm::tools {

/// What the results were found on. No host name and no serial number: `node` is a pseudonym, or
/// what the user called the machine.
struct Stamp {
  std::string cuvmm;   ///< version
  std::string driver;  ///< version, "" where the kernel module is not there; the emulator's profile
  int cuda = 0;        ///< what cuDriverGetVersion answers
  std::string gpu;     ///< name of device 0
  int devices = 0;
  bool emulated = false;
  std::string image;               ///< what the user calls the container; "" none
  std::string node;                ///< "node-1a2b3c4d"
  std::vector<std::string> lacks;  ///< the doctor's checks that do not work here

  /// Machines of one group should give the same results.
  std::string group() const;
  bool operator==(const Stamp&) const = default;
};

/// One unit.
struct UnitResult {
  std::string unit;
  std::string status;                 ///< "pass", "deviation", "agreed", "found", "works", ...
  std::string finding;                ///< what is wrong, in one line; "" nothing
  std::vector<std::string> answers;   ///< what was observed; what peers are compared by
  std::string program;                ///< program text that shows the finding; "" none
  std::vector<std::string> corpus{};  ///< program texts worth keeping, of a search
};

struct ShardResult {
  Job job;
  Shard shard;
  Stamp stamp;
  std::vector<UnitResult> results;
};

/// One result as one line of JSON, and back. Throws nlohmann::json::exception.
Json result_json(const UnitResult& result);
UnitResult parse_unit(const Json& json);
Json stamp_json(const Stamp& stamp);
Stamp parse_stamp(const Json& json);

std::string format_result(const ShardResult& result);
/// 64 bits of FNV-1a, as 16 digits: tells damage, not malice (see `cuvmm work check`).
std::string content_hash(std::string_view text);

/// "conformance-0003-of-0100" and, with the text's hash behind it, the file's name.
std::string shard_name(const Job& job, const Shard& shard);
std::string result_name(const ShardResult& result, std::string_view text);
/// The folder in the results' folder where that shard's file lies, so that none gets too full.
std::string shard_folder(const Job& job, const Shard& shard);

/// Every *.json below the folder, in the order of their names.
std::vector<std::string> result_paths(const std::string& folder);

/// Of "580.0 ns", the answer of a unit that was measured. Nothing for any other.
std::optional<double> measured_ns(const UnitResult& result);
/// Of at least one value; the upper one of the two in the middle.
double median(std::vector<double> values);

struct ReadResult {
  ShardResult result;
  std::string
      error;  ///< "expected ..." with line and column, or what the file's name says otherwise
};
/// `name` is the file's, without folders.
ReadResult parse_result(const std::string& text, const std::string& name);

}  // namespace cuvmm::tools
