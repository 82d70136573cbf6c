// SPDX-License-Identifier: Apache-2.0
// The processes of a program, each executing what it is told: one that crashes or hangs is an
// outcome.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "program/channel.h"
#include "program/outcome.h"
#include "program/program.h"
#include "program/run_options.h"

namespace cuvmm::program {

/// How one process can serve several programs, one after the other. Called in that process.
struct ProcessReuse {
  /// The table to call through instead of the driver's; once.
  Driver (*prepare)(const Driver&) = nullptr;
  /// Ends what the program before left behind; false when the process cannot serve another.
  bool (*tidy)() = nullptr;
};

/// Forks a process for each number that a program names when it is first needed, and again after
/// its end; they live as long as this object. The driver is used in them only, so this process
/// should not have called cuInit itself.
class ProgramProcesses {
 public:
  /// `driver` and the options must outlive this object. Without `reuse`, run() is called once.
  ProgramProcesses(const Driver& driver, const RunOptions& options, ProcessReuse reuse = {})
      : driver_(driver), options_(options), reuse_(reuse) {}
  ~ProgramProcesses();
  ProgramProcesses(const ProgramProcesses&) = delete;
  ProgramProcesses& operator=(const ProgramProcesses&) = delete;

  /// One outcome per statement, in their order.
  std::vector<Outcome> run(const Program& program);

 private:
  struct Process {
    Channel channel;
    pid_t pid;
    bool alive = true;
    std::string gone;  ///< why it is not alive
  };

  void start(int number);
  Outcome execute(std::size_t index);
  void carry(const std::string& name, int to);
  void tidy();
  int reap(Process& process);
  void kill_hanging(Process& process);
  Outcome died(Process& process);

  const Driver& driver_;
  const RunOptions& options_;
  const ProcessReuse reuse_;
  const Program* program_ = nullptr;  ///< only during run()
  std::map<int, Process> processes_;
  std::map<std::string, std::set<int>> holders_;  ///< which processes know a name's last binding
};

}  // namespace cuvmm::program
