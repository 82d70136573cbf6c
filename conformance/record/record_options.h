// SPDX-License-Identifier: Apache-2.0
// Options for a run of cases that is written down.
#pragma once

#include <map>
#include <string>

#include "program/run_options.h"

namespace cuvmm::conformance {

using program::RunOptions;

struct RecordOptions {
  RunOptions run;
  /// Cases that may do so share processes, which is much faster where it takes long to make a
  /// context. False: each case has processes of its own.
  bool share = false;
  int jobs = 8;             ///< cases at a time, each in processes of its own
  std::string name_filter;  ///< only cases whose name contains it, or equals it when `exact`
  bool exact = false;
  bool allow_multicast = false;  ///< multicast may reach a driver that is not cuvmm's emulator
  bool process_ids = false;      ///< fill Recording::processes
  /// By the name of the case: the text that its processes write to stderr. Null: they write it to
  /// this process's stderr.
  std::map<std::string, std::string>* stderr_texts = nullptr;
};

}  // namespace cuvmm::conformance
