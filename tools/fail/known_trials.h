// SPDX-License-Identifier: Apache-2.0
// What an earlier campaign that was cut off has found out (--resume): one JSON object on each line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/fail/trial.h"

namespace cuvmm::tools {

class KnownTrials {
 public:
  /// Reads the file if it is there. Throws UsageError if it is of another program, or no such file.
  KnownTrials(std::string path, const std::vector<std::string>& command);
  /// What is known of this specification, or null.
  const Trial* find(const std::string& spec) const;
  /// Appends it at once, so that nothing is lost however we end.
  void add(const Trial& trial);
  /// Why it could not be written; "" while it could.
  const std::string& problem() const { return problem_; }

 private:
  void append(const Json& line);

  std::string path_, problem_;
  std::map<std::string, Trial> known_;
};

}  // namespace cuvmm::tools
