// SPDX-License-Identifier: Apache-2.0
// Runs cases on a driver and writes down what it answered.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/driver.h"
#include "conformance/suite/case.h"
#include "program/run_program.h"

namespace cuvmm {

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

struct RecordOptions {
  RunOptions run;
  /// Cases that may do so share processes: faster by far where making a context is slow. False:
  /// each case has processes of its own.
  bool share = false;
  int jobs = 8;             ///< cases at a time, each in processes of its own
  std::string name_filter;  ///< only cases whose name contains it, or equals it when `exact`
  bool exact = false;
  bool allow_multicast = false;  ///< let cuMulticast* reach a driver that is not our emulator
  bool process_ids = false;      ///< fill Recording::processes
};

struct RecordResult {
  Recording recording;
  std::string error;  ///< why nothing could be recorded
};

/// Runs the cases on the libcuda at `driver_path`. This process must not have initialised CUDA.
RecordResult record_cases(const std::string& driver_path, const std::vector<Case>& cases,
                          const RecordOptions& options = {});

/// JSON, one line per case; parse_recording() reads it back.
std::string format_recording(const Recording& recording);
/// Nothing when the text is no recording.
std::optional<Recording> parse_recording(const std::string& text);

}  // namespace cuvmm
