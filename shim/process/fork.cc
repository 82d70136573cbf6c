// SPDX-License-Identifier: Apache-2.0
#include "shim/process/fork.h"

#include <pthread.h>

#include "shim/process/process.h"

namespace cuvmm::shim {

void handle_forks() {
  ::pthread_atfork([] { Process::get().lock_for_fork(); },
                   [] { Process::get().unlock_in_parent(); },
                   [] { Process::get().restart_in_child(); });
}

}  // namespace cuvmm::shim
