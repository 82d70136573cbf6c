// Runs many programs in one process: making a context costs a real driver a sixth of a second, and
// drivers make only one at a time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "api/channel.h"
#include "api/run_program.h"

namespace cuvmm {

/// Whether a program may share its process: it starts with a plain init(), stays in one process and
/// thread, leaves contexts alone, and asks for nothing that other programs change.
bool may_share_process(const Program& program);

/// A process, forked when first needed and again after a crash or a hang, that runs one program
/// after the other and ends what each of them left behind.
class SharedProcess {
 public:
  SharedProcess(const Driver& driver, const RunOptions& options)
      : driver_(driver), options_(options) {}
  ~SharedProcess() { stop(); }
  SharedProcess(const SharedProcess&) = delete;
  SharedProcess& operator=(const SharedProcess&) = delete;

  /// One outcome per statement, as run_program() gives them.
  std::vector<Outcome> run(const Program& program);

 private:
  void start();
  void stop();
  Outcome end(bool timed_out);

  const Driver& driver_;
  const RunOptions options_;
  std::unique_ptr<Channel> channel_;
  pid_t pid_ = -1;
};

}  // namespace cuvmm
