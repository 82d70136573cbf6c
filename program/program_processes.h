// SPDX-License-Identifier: Apache-2.0
// The processes of a program, each of which executes the statements that it receives. A process
// that crashes or hangs is an outcome.
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

/// Lets one process serve several programs in turn. The functions are called in that process.
struct ProcessReuse {
  /// Gives the table to call through in place of the driver's; called once.
  Driver (*prepare)(const Driver&) = nullptr;
  /// Ends the objects that the program before left; false if the process cannot serve another
  /// program.
  bool (*tidy)() = nullptr;
};

/// Forks a process for each number that a program names, when the program first needs it, and again
/// after the process ended. The processes live as long as this object. Only they use the driver, so
/// this process should not have called cuInit itself.
class ProgramProcesses {
 public:
  /// `driver` and the options must outlive this object. Without `reuse`, call run() only once.
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
    std::string end_reason;  ///< why the process is no longer alive
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
  std::map<std::string, std::set<int>> holders_;  ///< the processes that know a name's last binding
};

}  // namespace cuvmm::program
