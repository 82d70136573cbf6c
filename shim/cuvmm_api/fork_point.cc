// SPDX-License-Identifier: Apache-2.0
#include "shim/cuvmm_api/fork_point.h"

#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "injected_failures/fork_protocol.h"
#include "shim/process/process.h"

namespace cuvmm::shim {

namespace {

constexpr const char* kVariable = "CUVMM_FORK_SERVER";
constexpr int kLookMs = 5;

std::atomic<CUresult (*)(unsigned)> g_init{nullptr};
std::atomic<bool> g_passed{false};

int count_threads() {
  DIR* const tasks = ::opendir("/proc/self/task");
  if (!tasks) return 1;
  int count = 0;
  while (const dirent* const entry = ::readdir(tasks)) count += entry->d_name[0] != '.';
  ::closedir(tasks);
  return count;
}

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

bool tell(int fd, const injected_failures::ForkMessage& message) {
  return ::send(fd, &message, sizeof message, MSG_NOSIGNAL) == sizeof message;
}

void redirect(int to, const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return;
  ::dup2(fd, to);
  ::close(fd);
}

void set(const char* name, const std::string& value) {
  if (value.empty()) {
    ::unsetenv(name);
  } else {
    ::setenv(name, value.c_str(), 1);
  }
}

class ForkServer {
 public:
  explicit ForkServer(int fd) : fd_(fd) {}

  /// Returns only in each child.
  void serve() {
    while (true) {
      reap();
      pollfd ready{fd_, POLLIN, 0};
      const int got = ::poll(&ready, 1, children_.empty() ? -1 : kLookMs);
      if (got == 0 || (got < 0 && errno == EINTR)) continue;
      char text[injected_failures::kMostForkRequest];
      const ssize_t bytes = ::recv(fd_, text, sizeof text, 0);
      // The other side has closed the socket: no more runs are wanted. Exits at once, because the
      // exit handlers of the program are not for the server.
      if (bytes <= 0) ::syscall(SYS_exit_group, 0);
      const std::string_view request(text, static_cast<std::size_t>(bytes));
      const std::size_t split = std::min(request.find('\0'), request.size());
      const std::string folder(request.substr(0, split));
      if (start(folder, std::string(request.substr(std::min(split + 1, request.size()))))) return;
    }
  }

 private:
  // Returns true in the child.
  bool start(const std::string& folder, const std::string& spec) {
    // Set before the fork, because a child of fork reads its variables anew.
    set("CUVMM_FAIL", spec);
    set("CUVMM_FAIL_LOG", folder + "/logs");
    set("CUVMM_REPORT_DIR", folder + "/reports");
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(fd_);
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::unsetenv(kVariable);
      redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
      redirect(STDOUT_FILENO, folder + "/stdout", O_WRONLY | O_CREAT | O_TRUNC);
      redirect(STDERR_FILENO, folder + "/stderr", O_WRONLY | O_CREAT | O_TRUNC);
      Process::get().be_the_program();
      return true;
    }
    if (pid > 0) children_.insert(pid);
    tell(fd_, {injected_failures::ForkMessage::kStarted, pid, pid < 0 ? errno : 0});
    return false;
  }

  // Waits only for its own children, because the program waits for those of the program.
  void reap() {
    for (auto child = children_.begin(); child != children_.end();) {
      int status = 0;
      if (::waitpid(*child, &status, WNOHANG) == *child) {
        tell(fd_, {injected_failures::ForkMessage::kEnded, *child, status});
        child = children_.erase(child);
      } else {
        ++child;
      }
    }
  }

  const int fd_;
  std::set<pid_t> children_;
};

// Returns true in each child.
bool wait_for_commands(injected_failures::ForkMessage::Kind here, bool threads_may_go) {
  const char* const path = ::secure_getenv(kVariable);
  const int fd = path ? connect_to(path) : -1;
  if (fd < 0) return false;
  // Only the forking thread survives a fork, and a process ends when its main thread ends.
  const int threads = count_threads();
  const bool serves = threads == 1 || (threads_may_go && ::gettid() == ::getpid());
  if (!tell(fd, {here, ::getpid(), serves ? 1 : threads}) || !serves) {
    ::close(fd);
    return false;
  }
  ForkServer(fd).serve();
  return true;
}

bool pass(injected_failures::ForkMessage::Kind here, bool threads_may_go) noexcept {
  if (g_passed.exchange(true)) return false;
  const int program_errno = errno;
  bool forked = false;
  try {
    forked = wait_for_commands(here, threads_may_go);
  } catch (...) {
    // Out of memory: the program goes on without a fork server.
  }
  errno = program_errno;
  return forked;
}

CUresult CUDAAPI init_after_fork(unsigned flags) {
  pass(injected_failures::ForkMessage::kAtInit, false);
  return g_init.load()(flags);
}

}  // namespace

bool at_fork_point(bool threads_may_go) noexcept {
  return pass(injected_failures::ForkMessage::kAtPoint, threads_may_go);
}

void* fork_point_function(const char* name, void* driver_function) {
  if (!driver_function || std::string_view(name) != "cuInit") return nullptr;
  const char* const path = ::secure_getenv(kVariable);
  if (!path || !*path) return nullptr;
  g_init.store(reinterpret_cast<CUresult (*)(unsigned)>(driver_function));
  return reinterpret_cast<void*>(&init_after_fork);
}

}  // namespace cuvmm::shim
