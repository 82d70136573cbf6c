// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/host/pidfd.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/doctor/children.h"

namespace cuvmm::doctor {

namespace {

constexpr const char* kSource =
    "pidfd_getfd(2), ptrace(2); field: NVIDIA/TensorRT-LLM#11979, pytorch/pytorch#165685";
constexpr auto kLimit = std::chrono::seconds(10);

// Numbers of the system calls, which C libraries of 2019 do not name.
constexpr long kPidfdOpen = 434, kPidfdGetfd = 438;

// 0, or the errno of taking descriptor 0 from `target`.
int take_from(pid_t target, int& open_error) {
  const long process = syscall(kPidfdOpen, target, 0);
  open_error = process < 0 ? errno : 0;
  if (process < 0) return open_error;
  const long fd = syscall(kPidfdGetfd, process, STDIN_FILENO, 0);
  const int error = fd < 0 ? errno : 0;
  if (fd >= 0) close(static_cast<int>(fd));
  close(static_cast<int>(process));
  return error;
}

// Starts a child that waits to be killed. The child closes its end of the pipe when it is ready.
pid_t start_target(bool allow_anyone) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent died before prctl() took effect
    if (allow_anyone) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    close(ready[0]);
    close(ready[1]);
    for (;;) pause();
  }
  close(ready[1]);
  char nothing;
  while (pid > 0 && read(ready[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  close(ready[0]);
  return pid;
}

void end_target(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  int status;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

void read_state(const Host& host, PidfdFacts& facts) {
  if (const auto scope = host.read("/proc/sys/kernel/yama/ptrace_scope")) {
    facts.ptrace_scope = std::atoi(scope->c_str());
  }
  const std::string status = host.read("/proc/self/status").value_or("");
  constexpr unsigned kSysPtrace = 19;
  const auto capabilities = std::strtoull(field(status, "CapEff").c_str(), nullptr, 16);
  facts.ptrace_capability = (capabilities >> kSysPtrace & 1) != 0;
  facts.seccomp = field(status, "Seccomp") == "2";
  facts.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  unsigned long long inside = 0, outside = 0, count = 0;
  const std::string map = host.read("/proc/self/uid_map").value_or("");
  const bool whole = std::sscanf(map.c_str(), "%llu %llu %llu", &inside, &outside, &count) == 3 &&
                     inside == 0 && outside == 0 && count == 0xffffffffull;
  facts.user_namespace = !map.empty() && !whole;
  std::string profile = host.read("/proc/self/attr/current").value_or("");
  profile.resize(profile.find_last_not_of(std::string_view("\n\0", 2)) + 1);
  if (profile.find("unconfined") == std::string::npos) facts.security_module = profile;
}

std::string state_text(const PidfdFacts& facts) {
  std::string text = facts.ptrace_scope
                         ? fmt::format("kernel.yama.ptrace_scope is {}", *facts.ptrace_scope)
                         : "the kernel has no Yama";
  text += facts.ptrace_capability ? ", with CAP_SYS_PTRACE" : ", without CAP_SYS_PTRACE";
  if (facts.user_namespace) text += ", in a user namespace";
  return text;
}

Check judge_refusal(const PidfdFacts& facts) {
  constexpr const char* kId = "pidfd";
  const std::string capability =
      "CAP_SYS_PTRACE (`docker run --cap-add SYS_PTRACE`; in Kubernetes "
      "securityContext.capabilities.add)";
  if (!facts.dumpable) {
    return does_not(kId,
                    "this program is not dumpable (it has set-user-ID, file capabilities, or may "
                    "not be read), so other processes may not look into it",
                    capability + ", or a program file without these", kSource);
  }
  const int scope = facts.ptrace_scope.value_or(0);
  if (scope > 0 && !facts.ptrace_capability) {
    std::string detail =
        fmt::format("{} from a sibling: {}", std::strerror(facts.sibling), state_text(facts));
    if (facts.child == 0) detail += "; a parent may take from its children";
    if (facts.allowed == 0) {
      return does_not(kId, detail,
                      "the exporter calls prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) (tried here: "
                      "it works); or " +
                          capability + "; or `sysctl kernel.yama.ptrace_scope=0` on the host",
                      kSource);
    }
    return does_not(kId, detail,
                    scope >= 3
                        ? "a reboot with kernel.yama.ptrace_scope below 3"
                        : capability + ", or `sysctl kernel.yama.ptrace_scope=0` on the host",
                    kSource);
  }
  if (!facts.security_module.empty()) {
    return does_not(
        kId,
        fmt::format("{}, though {}: the only cause left is the security module's profile {}",
                    std::strerror(facts.sibling), state_text(facts), facts.security_module),
        "a profile that allows ptrace (`docker run --security-opt apparmor=...`)", kSource);
  }
  return does_not(kId,
                  fmt::format("{}, and none of the known reasons is there: {}",
                              std::strerror(facts.sibling), state_text(facts)),
                  "send descriptors by SCM_RIGHTS over a Unix socket, which needs no permission",
                  kSource);
}

}  // namespace

PidfdFacts try_pidfd(const Host& host) {
  PidfdFacts facts;
  read_state(host, facts);
  facts.reach = syscall(kPidfdGetfd, -1, 0, 0) < 0 ? errno : 0;
  const pid_t plain = start_target(false), open = start_target(true);
  facts.tried = plain > 0 && open > 0;
  if (facts.tried) {
    Children children;
    children.start("taker", [&](const Reporter& say) {
      int open_error = 0;
      say.fact("sibling", take_from(plain, open_error));
      say.fact("open", open_error);
      say.fact("allowed", take_from(open, open_error));
    });
    int open_error = 0;
    facts.child = take_from(plain, open_error);
    const Ended taker = children.wait(kLimit)["taker"];
    facts.tried = taker.whole() && taker.facts.has("allowed");
    facts.open = static_cast<int>(taker.facts.number("open").value_or(0));
    facts.sibling = static_cast<int>(taker.facts.number("sibling").value_or(0));
    facts.allowed = static_cast<int>(taker.facts.number("allowed").value_or(0));
  }
  end_target(plain);
  end_target(open);
  return facts;
}

Check judge_pidfd(const PidfdFacts& facts) {
  constexpr const char* kId = "pidfd";
  if (!facts.tried) {
    return unknown(kId, "no process could be started to try it", "allow more processes", kSource);
  }
  if (facts.sibling == 0) {
    return works(kId, "a sibling's descriptor was taken; " + state_text(facts), kSource);
  }
  // The kernel answers EBADF to descriptor -1, while a seccomp filter answers without a look at the
  // descriptor. The kernel's pidfd_open never answers EPERM.
  const bool filtered = facts.seccomp && (facts.reach != EBADF || facts.open == EPERM);
  if (filtered) {
    return does_not(kId,
                    fmt::format("a seccomp filter answers in the kernel's place: {}",
                                std::strerror(facts.reach != EBADF ? facts.reach : facts.open)),
                    "a seccomp profile that allows pidfd_getfd: Docker's does with `--cap-add "
                    "SYS_PTRACE`; `--security-opt seccomp=unconfined` allows all",
                    kSource);
  }
  if (facts.reach == ENOSYS || facts.open == ENOSYS) {
    return does_not(kId, "this kernel, or the sandbox in its place, has no pidfd_getfd",
                    "Linux 5.6 or newer; or send descriptors by SCM_RIGHTS over a Unix socket",
                    kSource);
  }
  if (facts.sibling == EPERM) return judge_refusal(facts);
  return does_not(kId, fmt::format("pidfd_getfd: {}", std::strerror(facts.sibling)),
                  "send descriptors by SCM_RIGHTS over a Unix socket, which needs no permission",
                  kSource);
}

}  // namespace cuvmm::doctor
