// SPDX-License-Identifier: Apache-2.0
// The answers of a driver to the cases.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cuvmm::conformance {

/// The answers of one driver, as in a file of conformance/recorded/.
struct Recording {
  std::string driver;          ///< path of the libcuda
  std::string gpu;             ///< name of device 0
  std::string driver_version;  ///< "580.159.04"; "" without a kernel module
  int cuda_version = 0;        ///< what cuDriverGetVersion answers
  int devices = 0;
  /// Cuvmm's emulator answered; not in the file.
  bool emulated = false;
  std::string date;                                       ///< UTC, ISO 8601
  std::map<std::string, std::vector<std::string>> cases;  ///< outcome texts by case
  std::map<std::string, std::string> skipped;             ///< reason by case
  /// Process ids by case, with which a caller matches a checker's reports; written only if asked
  /// for.
  std::map<std::string, std::vector<int>> processes;
};

/// JSON, one line per case; parse_recording() reads it back.
std::string format_recording(const Recording& recording);
/// Nothing if the text is no recording.
std::optional<Recording> parse_recording(const std::string& text);

}  // namespace cuvmm::conformance
