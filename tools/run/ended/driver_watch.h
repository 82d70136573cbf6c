// SPDX-License-Identifier: Apache-2.0
// Processes of the tree that use a driver which cuvmm's shim does not stand before: it is not in
// them (an empty environment, sudo), or another driver was loaded beside it. The shim tells of the
// second one when a process ends in its hands; not every process does.
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

/// What a /proc/PID/maps tells of drivers.
struct MappedDrivers {
  bool shim = false;              ///< the shim is there
  std::set<std::string> drivers;  ///< files called libcuda.so* whose code is mapped
  std::set<std::string> twice;    ///< of these, those that were loaded more than once
};
MappedDrivers drivers_in(const std::string& maps, const std::string& shim_name);

class DriverWatch {
 public:
  /// `shim`: its path.
  explicit DriverWatch(const std::string& shim);

  /// Looks at the processes below this one, seldom enough to cost little.
  void look();
  /// Puts what was seen into the report of the run.
  void add_to(MergedReport& report, const std::vector<ProcessReport>& reports) const;

 private:
  struct Watched {
    std::uint64_t next_ns = 0;  // when to look at it again
    std::uint64_t interval_ns = 0;
    MappedDrivers before;  // at the last look
    // At two looks, because who only asks whether a driver is there closes it at once.
    std::set<std::string> drivers, twice;  // with the shim
    std::string bare;                      // the program's name, where it had no shim
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
