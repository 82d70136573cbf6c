// SPDX-License-Identifier: Apache-2.0
// Checks whether one process may take a descriptor from another one by pidfd_getfd, because PyTorch
// and TensorRT-LLM pass exported memory between ranks that way.
#pragma once

#include <optional>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// The results of try_pidfd(), and the settings of the machine that explain them. Numbers are
/// errnos; 0 is success.
struct PidfdFacts {
  int reach = 0;      ///< errno of pidfd_getfd(-1, ...); EBADF if the call reaches the kernel
  int open = 0;       ///< errno of pidfd_open on a sibling
  int sibling = 0;    ///< errno of pidfd_getfd from a sibling that gave no permission
  int allowed = 0;    ///< errno of pidfd_getfd from a sibling that set PR_SET_PTRACER_ANY
  int child = 0;      ///< errno of pidfd_getfd by a parent from its own child
  bool tried = true;  ///< false: no process could be started for the trial
  std::optional<int> ptrace_scope = {};  ///< Yama's setting; nothing on a kernel without Yama
  bool ptrace_capability = false;        ///< CAP_SYS_PTRACE in the effective set
  bool seccomp = false;                  ///< a filter of system calls is installed
  bool dumpable = true;                  ///< other processes of the user may look into this one
  bool user_namespace = false;           ///< this process is not in the initial user namespace
  std::string security_module = {};      ///< profile of AppArmor or SELinux; "" if none confines
};

/// Starts three processes, and kills them before it returns.
PidfdFacts try_pidfd(const Host& host);

Check judge_pidfd(const PidfdFacts& facts);

}  // namespace cuvmm::doctor
