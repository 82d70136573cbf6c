// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/host_call.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "api/posix/cancel_off.h"
#include "emulator/base/system.h"
#include "emulator/objects/patience.h"

namespace cuvmm::emulator {

struct HostCall::State {
  const void* identity = nullptr;
  std::function<void()> function;
  bool begun = false;                  ///< set and read by the thread that owns the call
  std::atomic<bool> came_back{false};  ///< changes under the lock of HostThread
};

namespace {

// The number behind the name of a line; 0 if there is none.
std::uint64_t number_behind(const char* text, const char* line) {
  const char* const found = std::strstr(text, line);
  return found ? std::strtoull(found + std::strlen(line), nullptr, 10) : 0;
}

// Reads the thread's state from /proc; false if that is not possible.
bool ask_kernel(pid_t thread, SpentTime::Look& look) {
  char path[64], text[4096];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", static_cast<int>(thread));
  const int fd = sys_open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = sys_read(fd, text, sizeof text - 1);
  sys_close(fd);
  if (got <= 0) return false;
  text[got] = '\0';
  look.asleep = std::strstr(text, "\nState:\tS") != nullptr;
  look.switches = number_behind(text, "\nvoluntary_ctxt_switches:") +
                  number_behind(text, "\nnonvoluntary_ctxt_switches:");
  return true;
}

std::chrono::nanoseconds time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Calls the program's functions on one thread. Never destroyed, because the thread may be in a
/// function of the program when the process ends.
class HostThread {
 public:
  using Call = std::shared_ptr<HostCall::State>;

  static HostThread& get() {
    static HostThread* const thread = new HostThread;
    return *thread;
  }

  /// Hands the call to the thread; false: the system has no thread for it.
  bool begin(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (!started_) started_ = start();
    if (!started_) return false;
    calls_.push_back(call);
    ++away_;
    changed_.notify_all();
    return true;
  }

  // A function that only computes should return before other work continues: otherwise the order of
  // work would depend on the machine's speed.
  void wait(const Call& call) {
    constexpr std::chrono::milliseconds kBetweenLooks{2};
    std::unique_lock lock(mutex_);
    Call watched;
    SpentTime time;
    while (!changed_.wait_for(lock, kBetweenLooks, [&] { return call->came_back.load(); })) {
      if (!running_) continue;
      if (std::exchange(watched, running_) != running_) time = {};
      if (time.add(look()) < patience_.with(running_->identity)) continue;
      patience_.note_outlasted(running_->identity);
      return;
    }
  }

  bool any_away() const { return away_ != 0; }
  bool started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  // The calls' thread now, under the lock.
  SpentTime::Look look() const {
    SpentTime::Look look{.now = time_of(CLOCK_MONOTONIC), .processor = time_of(processor_clock_)};
    // A process without a free descriptor cannot read of its threads: then all of the time counts.
    if (!ask_kernel(thread_, look)) look.asleep = true;
    return look;
  }

  bool start() {
    // Signals must reach the program's own threads only.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const auto run = [](void*) -> void* {
      HostCall::on_its_thread() = true;
      HostThread::get().run();
      return nullptr;
    };
    const bool made = pthread_create(&thread, nullptr, run, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (made) pthread_detach(thread);
    return made;
  }

  void run() {
    std::unique_lock lock(mutex_);
    thread_ = ::gettid();
    ::pthread_getcpuclockid(::pthread_self(), &processor_clock_);
    for (;;) {
      changed_.wait(lock, [this] { return !calls_.empty(); });
      const Call call = std::move(calls_.front());
      calls_.pop_front();
      running_ = call;
      lock.unlock();
      call->function();
      lock.lock();
      call->came_back = true;
      running_ = nullptr;
      --away_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
  std::atomic<int> away_{0};
  bool started_ = false;
  pid_t thread_ = 0;
  clockid_t processor_clock_ = CLOCK_MONOTONIC;
  Call running_;  ///< the call that the thread is in
  Patience patience_;
};

}  // namespace

HostCall::HostCall(const void* identity, std::function<void()> function)
    : state_(std::make_shared<State>()) {
  state_->identity = identity;
  state_->function = std::move(function);
}

bool HostCall::go_on() {
  if (std::exchange(state_->begun, true)) return came_back();
  const CancelOff no_cancel;
  if (!HostThread::get().begin(state_)) {
    state_->function();
    state_->came_back = true;
    return true;
  }
  HostThread::get().wait(state_);
  return came_back();
}

bool HostCall::came_back() const { return state_->came_back.load(std::memory_order_acquire); }

bool HostCall::any_away() { return HostThread::get().any_away(); }

bool HostCall::has_thread() { return HostThread::get().started(); }

bool& HostCall::on_its_thread() {
  static constinit thread_local bool is = false;
  return is;
}

}  // namespace cuvmm::emulator
