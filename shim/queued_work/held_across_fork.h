// SPDX-License-Identifier: Apache-2.0
// Tables with a lock that is held across a fork, so that no other thread is changing them in the
// moment of the fork.
#pragma once

#include <new>

#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

/// Base of a class whose tables mutex_ guards. The class itself has restart(whole), which is called
/// only in a child of fork, where one thread lives; `whole` says whether the lock was held.
class HeldAcrossFork {
 public:
  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }

 protected:
  HeldAcrossFork() = default;
  ~HeldAcrossFork() = default;

  /// Empties the tables. Abandons those that another thread was changing at the fork.
  template <class... Table>
  static void empty(bool whole, Table&... tables) {
    if (!whole) (new (&tables) Table(), ...);
    (tables.clear(), ...);
  }

  mutable OwnedMutex mutex_;
};

}  // namespace cuvmm::shim
