// The report that one process left: read, and checked against the contract in docs/report.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cuvmm {

using Json = nlohmann::ordered_json;

inline constexpr int kReportSchema = 1;
/// Bytes; a larger file is refused, so that a runaway process cannot exhaust the runner's memory.
inline constexpr std::uint64_t kLargestReport = std::uint64_t{256} << 20;

struct ProcessReport {
  std::int64_t pid = 0;  ///< from the report, else from the file's name "<pid>-<unique>.json"
  Json value;            ///< an object that holds to the contract
  std::string error;     ///< "FILE: why it is no report"; empty on success
};

ProcessReport read_process_report(const std::string& path);

/// The same from text; `path` names it in errors and gives the pid.
ProcessReport parse_process_report(const std::string& text, const std::string& path);

}  // namespace cuvmm
