// SPDX-License-Identifier: Apache-2.0
// Finds out whether a signal was sent to this process only, or to its whole process group.
#pragma once

#include <sys/types.h>

namespace cuvmm::tools {

/// A child process in the group of this process. The child does nothing, so a signal to the group
/// stays pending in it. waitpid() reports the child only if __WCLONE is set.
class GroupWitness {
 public:
  /// The witness works for signals that are blocked at this moment.
  GroupWitness() { start(); }
  ~GroupWitness() { end(); }
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether `signal`, which this process has just received, was sent to the group. Takes up to 10
  /// ms.
  bool has_it_too(int signal);

 private:
  void start();
  void end();

  pid_t pid_ = -1;
};

}  // namespace cuvmm::tools
