// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/host_call.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "api/posix/cancel_off.h"

namespace cuvmm::emulator {

struct HostCall::State {
  std::function<void()> function;
  bool begun = false;                  ///< set and read by the thread that owns the call
  std::atomic<bool> came_back{false};  ///< changes under the lock of HostThread
};

namespace {

// The first wait is long, because a function that only computes should return before other work
// continues: otherwise the order of work would depend on the machine's speed. A function that waits
// for the program shows that by outlasting kPatience once; later waits are kLittlePatience.
constexpr std::chrono::milliseconds kPatience{1000}, kLittlePatience{5};

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

  void wait(const Call& call) {
    std::unique_lock lock(mutex_);
    const auto patience = impatient_ ? kLittlePatience : kPatience;
    impatient_ |= !changed_.wait_for(lock, patience, [&] { return call->came_back.load(); });
  }

  bool any_away() const { return away_ != 0; }

 private:
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
    for (;;) {
      changed_.wait(lock, [this] { return !calls_.empty(); });
      const Call call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call->function();
      lock.lock();
      call->came_back = true;
      --away_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
  std::atomic<int> away_{0};
  bool started_ = false;
  bool impatient_ = false;
};

}  // namespace

HostCall::HostCall(std::function<void()> function) : state_(std::make_shared<State>()) {
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

bool& HostCall::on_its_thread() {
  static constinit thread_local bool is = false;
  return is;
}

}  // namespace cuvmm::emulator
