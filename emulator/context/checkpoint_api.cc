// SPDX-License-Identifier: Apache-2.0
// cuCheckpointProcess...: a process is locked, its memory is taken away and brought back, and it is
// unlocked. The emulator's memory is the host's, so a checkpoint keeps it where it is.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "emulator/core/emulator.h"
#include "emulator/core/export.h"
#include "emulator/core/stopped.h"

namespace cuvmm::emulator {

namespace {

enum State { kRunning, kLocked, kCheckpointed };

// cuda.h's structures, which headers before CUDA 12.8 lack.
struct LockArgs {
  unsigned timeout_ms, reserved;
  std::uint64_t more[7];
};
struct RestoreArgs {
  const void* pairs;
  unsigned count;
};
struct NoArgs {
  std::uint64_t reserved[8];
};

// Where the process with this pid has mapped the beginning of this library; 0: nowhere.
std::uintptr_t library_in(int pid, const char* path) {
  const std::string maps = "/proc/" + std::to_string(pid) + "/maps";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(maps.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return 0;
  char line[4352], name[4097];
  while (std::fgets(line, sizeof line, file.get())) {
    std::uintptr_t begin = 0, offset = 0;
    const int read =
        std::sscanf(line, "%lx-%*x %*4s %lx %*s %*u %4096[^\n]", &begin, &offset, name);
    if (read == 3 && offset == 0 && std::strcmp(name, path) == 0) return begin;
  }
  return 0;
}

// The page of a process: this one's own, or a copy of another's.
class Process {
 public:
  explicit Process(int pid) : pid_(pid), own_(pid == ::getpid()) {
    Dl_info library{};
    if (own_ || ::dladdr(&g_process_page, &library) == 0) return;
    const std::uintptr_t begin = library_in(pid, library.dli_fname);
    if (begin == 0) return;
    const auto own = reinterpret_cast<std::uintptr_t>(&g_process_page);
    page_ = begin + (own - reinterpret_cast<std::uintptr_t>(library.dli_fbase));
    std::uint64_t magic = 0;
    if (!copy(&magic, offsetof(ProcessPage, magic), sizeof magic, false) ||
        magic != ProcessPage::kMagic)
      page_ = 0;
  }
  /// Whether it is a process that has called cuInit.
  bool known() {
    return own_ ? g_process_page.pid == pid_
                : page_ != 0 && word(offsetof(ProcessPage, pid)) == pid_;
  }
  int state() { return word(offsetof(ProcessPage, state)); }
  int inside() { return word(offsetof(ProcessPage, inside)); }
  bool set(int state) {
    if (own_) g_process_page.state = state;
    return own_ || copy(&state, offsetof(ProcessPage, state), sizeof state, true);
  }

 private:
  int word(std::size_t at) {
    int value = -1;
    if (!own_) return copy(&value, at, sizeof value, false) ? value : -1;
    std::memcpy(&value, reinterpret_cast<const char*>(&g_process_page) + at, sizeof value);
    return value;
  }
  bool copy(void* here, std::size_t at, std::size_t size, bool write) const {
    const iovec local{here, size}, remote{reinterpret_cast<void*>(page_ + at), size};
    const ssize_t done = write ? ::process_vm_writev(pid_, &local, 1, &remote, 1, 0)
                               : ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    return done == static_cast<ssize_t>(size);
  }

  const int pid_;
  const bool own_;
  std::uintptr_t page_ = 0;
};

// body(process) for a process that uses this emulator. The codes are an H200's.
template <class Body>
CUresult on_process(int pid, Body&& body, bool needs_init = true) noexcept {
  if (const CUresult answer = end_of_life(); answer != CUDA_SUCCESS) return answer;
  if (needs_init && !ready()) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) return CUDA_ERROR_OPERATING_SYSTEM;
    Process process(pid);
    return process.known() ? body(process) : CUDA_ERROR_NOT_INITIALIZED;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult step(int pid, State from, State to) noexcept {
  return on_process(pid, [&](Process& process) -> CUresult {
    if (process.state() != from) return CUDA_ERROR_ILLEGAL_STATE;
    return process.set(to) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

template <class Args>
bool all_zero(const Args* args, std::size_t from) {
  if (!args) return true;
  const auto* bytes = reinterpret_cast<const unsigned char*>(args);
  return std::all_of(bytes + from, bytes + sizeof *args, [](unsigned char b) { return b == 0; });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuCheckpointProcessGetState, int pid, int* state) {
  return on_process(
      pid,
      [&](Process& process) -> CUresult {
        if (!state) return CUDA_ERROR_INVALID_VALUE;
        *state = process.state();
        return CUDA_SUCCESS;
      },
      false);
}

// The emulator needs no thread for a restore, so the process's first thread stands for it.
CUVMM_DRIVER_FUNCTION(cuCheckpointProcessGetRestoreThreadId, int pid, int* tid) {
  return on_process(pid, [&](Process&) -> CUresult {
    if (!tid) return CUDA_ERROR_INVALID_VALUE;
    *tid = pid;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCheckpointProcessLock, int pid, const LockArgs* args) {
  return on_process(pid, [&](Process& process) -> CUresult {
    if (!all_zero(args, offsetof(LockArgs, reserved))) return CUDA_ERROR_INVALID_VALUE;
    if (process.state() != kRunning) return CUDA_ERROR_ILLEGAL_STATE;
    if (!process.set(kLocked)) return CUDA_ERROR_OPERATING_SYSTEM;
    // Calls that are under way end first.
    const auto limit = std::chrono::milliseconds(args ? args->timeout_ms : 0);
    const auto begin = std::chrono::steady_clock::now();
    while (process.inside() > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (limit.count() == 0 || std::chrono::steady_clock::now() - begin < limit) continue;
      process.set(kRunning);
      return CUDA_ERROR_NOT_READY;
    }
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuCheckpointProcessCheckpoint, int pid, const void*) {
  return step(pid, kLocked, kCheckpointed);
}

CUVMM_DRIVER_FUNCTION(cuCheckpointProcessRestore, int pid, const RestoreArgs* args) {
  if (args && args->count != 0 && !args->pairs) return CUDA_ERROR_INVALID_VALUE;
  return step(pid, kCheckpointed, kLocked);
}

CUVMM_DRIVER_FUNCTION(cuCheckpointProcessUnlock, int pid, const NoArgs* args) {
  if (!all_zero(args, 0)) return CUDA_ERROR_INVALID_VALUE;
  return step(pid, kLocked, kRunning);
}

}  // namespace cuvmm::emulator
