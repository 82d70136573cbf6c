// SPDX-License-Identifier: Apache-2.0
// The file of --resume: the trials that an interrupted campaign had made. Each line is a JSON
// object.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/fail/trial.h"

namespace cuvmm::tools {

class KnownTrials {
 public:
  /// Reads the file if it exists. Throws UsageError if the file belongs to another program, or is
  /// no file of --resume.
  KnownTrials(std::string path, const std::vector<std::string>& command);
  /// The trial with this specification; null if the file has none.
  const Trial* find(const std::string& spec) const;
  /// Appends the trial to the file at once, so that no end of `cuvmm fail` loses it.
  void add(const Trial& trial);
  /// The reason why the file could not be written; "" if it could.
  const std::string& problem() const { return problem_; }

 private:
  void append(const Json& line);

  std::string path_, problem_;
  std::map<std::string, Trial> known_;
};

}  // namespace cuvmm::tools
