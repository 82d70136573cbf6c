// SPDX-License-Identifier: Apache-2.0
// NVML's list of a device's processes. The library may be missing, slow or broken: so a thread asks
// it, and the caller waits only for a limited time.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <new>

#include "shim/refusals/neighbours.h"

namespace cuvmm::shim::detail {

namespace {

// NVML's functions and structures, declared here; names and layouts are its ABI ("NVML API
// reference").
using Device = void*;
constexpr int kSuccess = 0;
struct ProcessInfo {  // nvmlProcessInfo_t, since its second version
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long kNotSaid = ~0ull;  // NVML_VALUE_NOT_AVAILABLE
constexpr unsigned kMostListed = 256;

// Shared by the asking thread and the waiting thread: the last of the two frees it.
struct Question {
  std::string library, bus_id;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
  bool done = false;
  std::vector<Neighbour> answer;
};

template <class Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

void add(std::vector<Neighbour>& all, const ProcessInfo& info) {
  const int pid = static_cast<int>(info.pid);
  const std::uint64_t bytes = info.used == kNotSaid ? 0 : info.used;
  // A process that computes and draws is in both lists, each time with all its memory.
  for (Neighbour& known : all) {
    if (known.pid != pid) continue;
    known.bytes = std::max(known.bytes, bytes);
    return;
  }
  all.push_back({.pid = pid, .program = {}, .bytes = bytes});
}

void list(void* library, Device device, std::vector<Neighbour>& all) {
  constexpr const char* kLists[][2] = {
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"},
      {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}};
  using List = int(Device, unsigned*, ProcessInfo*);
  for (const auto& names : kLists) {
    List* ask = look_up<List>(library, names[0]);
    if (!ask) ask = look_up<List>(library, names[1]);
    std::vector<ProcessInfo> found(kMostListed);
    unsigned count = kMostListed;
    if (!ask || ask(device, &count, found.data()) != kSuccess) continue;
    for (unsigned i = 0; i < std::min(count, kMostListed); ++i) add(all, found[i]);
  }
}

std::vector<Neighbour> listed(const Question& question) {
  std::vector<Neighbour> all;
  void* const library = ::dlopen(question.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return all;
  auto* const start = look_up<int()>(library, "nvmlInit_v2");
  auto* const stop = look_up<int()>(library, "nvmlShutdown");
  auto* const find =
      look_up<int(const char*, Device*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  // The library stays loaded, because its own threads, if it has any, may still run.
  if (!start || !stop || !find || start() != kSuccess) return all;
  Device device = nullptr;
  if (find(question.bus_id.c_str(), &device) == kSuccess) list(library, device, all);
  stop();
  return all;
}

void* answer(void* argument) {
  const std::unique_ptr<std::shared_ptr<Question>> mine(
      static_cast<std::shared_ptr<Question>*>(argument));
  Question& question = **mine;
  std::vector<Neighbour> all;
  try {
    all = listed(question);
  } catch (const std::bad_alloc&) {
    all.clear();
  }
  ::pthread_mutex_lock(&question.mutex);
  question.answer.swap(all);
  question.done = true;
  ::pthread_cond_signal(&question.answered);
  ::pthread_mutex_unlock(&question.mutex);
  return nullptr;
}

// The thread starts with all signals blocked, because they belong to the program.
bool start_thread(std::shared_ptr<Question>* question) {
  sigset_t all, before;
  ::sigfillset(&all);
  if (::pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  pthread_t thread;
  const bool started = ::pthread_create(&thread, nullptr, &answer, question) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) ::pthread_detach(thread);
  return started;
}

}  // namespace

std::vector<Neighbour> ask_nvml(const std::string& library, const std::string& bus_id,
                                std::chrono::milliseconds limit) {
  const auto question = std::make_shared<Question>();
  question->library = library;
  question->bus_id = bus_id;
  auto theirs = std::make_unique<std::shared_ptr<Question>>(question);
  if (!start_thread(theirs.get())) return {};
  (void)theirs.release();  // the thread owns it now
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  const auto at = std::chrono::seconds(end.tv_sec) + std::chrono::nanoseconds(end.tv_nsec) + limit;
  end.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at).count();
  end.tv_nsec = (at % std::chrono::seconds(1)).count();
  ::pthread_mutex_lock(&question->mutex);
  int wait = 0;
  while (!question->done && wait == 0) {
    wait = ::pthread_cond_timedwait(&question->answered, &question->mutex, &end);
  }
  std::vector<Neighbour> answer;
  answer.swap(question->answer);
  ::pthread_mutex_unlock(&question->mutex);
  return answer;
}

}  // namespace cuvmm::shim::detail
