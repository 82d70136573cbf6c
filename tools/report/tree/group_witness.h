// SPDX-License-Identifier: Apache-2.0
// Whether a signal was sent to this process alone, or to its whole process group.
#pragma once

#include <sys/types.h>

namespace cuvmm::tools {

/// A process in the group of this one that does nothing: signals stay pending there. Only who waits
/// with __WCLONE sees it among the children.
class GroupWitness {
 public:
  /// The signals that are blocked now are those that it can tell of.
  GroupWitness() { start(); }
  ~GroupWitness() { end(); }
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether this signal, which has just come, came to the group. Takes some milliseconds.
  bool has_it_too(int signal);

 private:
  void start();
  void end();

  pid_t pid_ = -1;
};

}  // namespace cuvmm::tools
