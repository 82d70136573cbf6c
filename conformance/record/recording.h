// SPDX-License-Identifier: Apache-2.0
// What a driver answered to the cases.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cuvmm::conformance {

/// What a driver answered, as a file of conformance/recorded/ holds it.
struct Recording {
  std::string driver;          ///< path of the libcuda
  std::string gpu;             ///< name of device 0
  std::string driver_version;  ///< "580.159.04"; "" when the kernel module is not there
  int cuda_version = 0;        ///< what cuDriverGetVersion answers
  int devices = 0;
  bool emulated = false;                                  ///< by cuvmm's emulator; not in the file
  std::string date;                                       ///< UTC, ISO 8601
  std::map<std::string, std::vector<std::string>> cases;  ///< outcome texts by case
  std::map<std::string, std::string> skipped;             ///< reason by case
  /// Process ids by case, to match a checker's reports with; written only when asked for.
  std::map<std::string, std::vector<int>> processes;
};

/// JSON, one line per case; parse_recording() reads it back.
std::string format_recording(const Recording& recording);
/// Nothing when the text is no recording.
std::optional<Recording> parse_recording(const std::string& text);

}  // namespace cuvmm::conformance
