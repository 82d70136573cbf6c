// SPDX-License-Identifier: Apache-2.0
// Finds processes of the tree that use a driver which cuvmm's shim does not intercept: the process
// has no shim (an empty environment, sudo), or it loaded another driver beside the shim. The shim
// reports the second case when a process ends normally; not every process does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/report_merge.h"

namespace cuvmm::tools {

/// The drivers in the text of a /proc/PID/maps.
struct MappedDrivers {
  bool shim = false;              ///< the shim is mapped
  std::set<std::string> drivers;  ///< files called libcuda.so* whose code is mapped
  std::set<std::string> twice;    ///< those of `drivers` that were loaded more than once
};
MappedDrivers drivers_in(const std::string& maps, const std::string& shim_name);

class DriverWatch {
 public:
  /// `shim` is the shim's path.
  explicit DriverWatch(const std::string& shim);

  /// Looks at the processes below this one. The interval between two looks keeps the cost low.
  void look();
  /// Adds the findings to the report of the run.
  void add_to(MergedReport& report, const std::vector<ProcessReport>& reports) const;

 private:
  struct Watched {
    std::uint64_t first_ns = 0;  // the time of the first look
    std::uint64_t next_ns = 0;   // when to look at the process again
    MappedDrivers before;        // at the last look
    // Only files seen at two looks count, because a program that only tests for a driver closes it
    // at once.
    std::set<std::string> drivers, twice;  // drivers in a process with the shim
    std::string bare;                      // name of a program without the shim
    bool nothing() const { return drivers.empty() && bare.empty(); }
  };

  static void note(Watched& one, const MappedDrivers& seen, const std::string& folder);
  void look_at(Watched& one, const std::string& folder, std::uint64_t now) const;

  const std::string shim_name_;
  std::uint64_t next_ns_ = 0;
  using Id = std::pair<pid_t, std::uint64_t>;  // the pid, and when the process started
  std::map<Id, Watched> processes_;
};

}  // namespace cuvmm::tools
