// SPDX-License-Identifier: Apache-2.0
// Whether one process may take a descriptor out of another, as PyTorch and TensorRT-LLM pass
// exported memory between ranks.
#pragma once

#include <optional>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// What was tried, and what the machine says of it. Numbers are errnos; 0 is success.
struct PidfdFacts {
  int reach = 0;      ///< of pidfd_getfd(-1, ...); EBADF where the call reaches the kernel
  int open = 0;       ///< of pidfd_open on a sibling
  int sibling = 0;    ///< of pidfd_getfd from a sibling that did nothing for it
  int allowed = 0;    ///< from one that said PR_SET_PTRACER_ANY
  int child = 0;      ///< by a parent from its own child
  bool tried = true;  ///< false: no process could be started for it
  std::optional<int> ptrace_scope = {};  ///< of Yama; nothing without Yama
  bool ptrace_capability = false;        ///< CAP_SYS_PTRACE in the effective set
  bool seccomp = false;                  ///< a filter of system calls is installed
  bool dumpable = true;                  ///< other processes of the user may look into this one
  bool user_namespace = false;           ///< not the machine's first one
  std::string security_module = {};      ///< profile of AppArmor or SELinux; "" if none confines
};

/// Starts three processes for an instant.
PidfdFacts try_pidfd(const Host& host);

Check judge_pidfd(const PidfdFacts& facts);

}  // namespace cuvmm::doctor
