// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a program on a driver: turns names into values, and ops into call structs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "api/driver/driver.h"
#include "api/posix/worker.h"
#include "fuzz/machine/op_calls.h"

namespace cuvmm::fuzz {

/// The answer to one op.
struct Answer {
  bool run = false;  ///< false: the maker of a reference failed, or the op makes no call
  CUresult result = CUDA_SUCCESS;
  std::uint32_t value = 0;  ///< flags, granularity, digest of properties or bytes; 0 for none
};

/// The value of an out-parameter that makes no name: flags, a size, a digest of properties or of
/// `bytes` bytes; 0 for all other parameters.
std::uint32_t out_value(ParameterKind kind, const void* out, std::size_t bytes);
/// The value of a call that succeeded.
template <class CallStruct>
std::uint32_t out_value(const CallStruct& call) {
  std::size_t bytes = 0;
  if constexpr (requires { call.ByteCount; }) bytes = call.ByteCount;
  std::uint32_t value = 0;
  call.visit([&]<class Field>(ParameterKind kind, const char*, const Field& field) {
    if constexpr (std::is_pointer_v<Field>) {
      if (field) value |= out_value(kind, field, bytes);
    }
  });
  return value;
}

/// The driver and contexts of one process, and of a second process where there is one. A machine
/// runs any number of programs in turn. Names stand for equal numbers in both processes.
class Machine {
 public:
  /// Initialises the drivers; error() says what failed. Without `other`, the ops of the second
  /// process are not run. Without `multicast`, no function of api/multicast.h is called, even by a
  /// shim. Calls that a driver of CUDA `version` lacks, by since(), are not made.
  explicit Machine(const Driver& driver, bool multicast = false,
                   const std::optional<Driver>& other = std::nullopt, int version = 0);
  const std::string& error() const { return error_; }
  int devices() const { return static_cast<int>(contexts_[0].size()); }
  const Driver& driver(int process = 0) const { return drivers_[process]; }
  int processes() const { return static_cast<int>(drivers_.size()); }

  /// Must be called before each program: no name is bound, and device 0 is current on the first
  /// thread of each process only.
  void start();
  /// Makes the contexts of start() current, and does nothing else. A thread other than the caller
  /// gets its context when it is next used.
  void make_current();
  /// The device of the current context of an op's actor; -1 for none.
  int device_of(int actor) const { return current_[actor]; }

  /// Makes the op's call through `visit(call)`, which returns its CUresult, on the op's thread.
  template <class Visit>
  Answer step(const Op& op, Visit&& visit);
  /// Runs `work` on one of the threads; thread 0 is the caller. The calls of another process start
  /// here, too. Work for the current thread runs at once.
  template <class Work>
  void on_thread(int thread, Work&& work);

  /// Called when the program closes the descriptor of a name; for `closed` of step().
  std::function<void(int)> on_close;

 private:
  struct Binding {
    enum : std::uint8_t { kUnbound, kFailed, kBound } state = kUnbound;
    std::uint64_t value = 0;
    bool given =
        false;  ///< the descriptor was offered as external memory: the program no longer closes it
    bool taken = false;  ///< the driver closed the descriptor, so its number may mean another file
  };
  const Binding& bound(NameKind kind, std::uint8_t name) const {
    return bindings_[static_cast<std::size_t>(kind)][name];
  }
  /// The binding of a name, for a change.
  Binding& binding(NameKind kind, std::uint8_t name) {
    Binding& out = bindings_[static_cast<std::size_t>(kind)][name];
    used_bindings_.push_back(&out);
    return out;
  }
  /// The value of the name that the last call, which succeeded, makes.
  std::uint64_t made(const Op& op);

  std::vector<Driver> drivers_;  // by process
  bool multicast_ = false;
  int version_ = 0;
  std::string error_;
  std::vector<CUcontext> contexts_[kProcesses];
  Binding bindings_[kNameKinds][256];
  std::vector<Binding*> used_bindings_;  ///< all bindings that may differ from the start
  int current_[kActors] = {0, -1, -1, 0};
  bool used_[kThreads] = {};   ///< the thread has a context that start() does not give it
  bool stale_[kThreads] = {};  ///< the thread still has a context of an earlier program
  std::unique_ptr<Worker> workers_[kThreads];
  int running_ = 0;  ///< the thread on which on_thread() runs
  CallMemory memory_;
  std::vector<Blob> blobs_;
};

template <class Work>
void Machine::on_thread(int thread, Work&& work) {
  if (thread == running_) return work();
  if (!workers_[thread]) {
    workers_[thread] = std::make_unique<Worker>(Worker::Place::kBesideCaller);
  }
  running_ = thread;
  if (std::exchange(stale_[thread], false)) {
    workers_[thread]->run([&] {
      drivers_[0](calls::CtxSetCurrent{nullptr});
      work();
    });
  } else {
    workers_[thread]->run(std::ref(work));
  }
  running_ = 0;
}

template <class Visit>
Answer Machine::step(const Op& op, Visit&& visit) {
  Answer answer;
  if (is_multicast(op.code) && !multicast_) return answer;
  if (since(op.code) > version_) return answer;
  const Shape& s = shape(op.code);
  // Without an out-parameter, the name keeps its old binding.
  const bool makes = s.makes != NameKind::kNone && !(op.faults & kNullOut);
  Binding* target = makes ? &binding(s.makes, op.name) : nullptr;
  const auto value = [&](NameKind kind, std::uint8_t name, bool& usable) -> std::uint64_t {
    if (kind == NameKind::kNone || name == 0) return 0;
    const Binding& b = bound(kind, name);
    if (b.state == Binding::kFailed) usable = false;
    // A descriptor can be passed on only while it is open; the driver may have closed this one.
    if (b.given && process_of(op) != 0) usable = false;
    // After the driver took a descriptor, the driver decides which file has the number.
    if (b.taken && fcntl(static_cast<int>(b.value), F_GETFD) >= 0) usable = false;
    return b.state == Binding::kBound ? b.value : 0;
  };
  const int process = process_of(op);
  bool usable = process < processes();
  const std::uint64_t first = value(s.ref, op.ref, usable);
  const std::uint64_t second = value(s.ref2, op.ref2, usable);
  if (target) *target = {Binding::kFailed};
  if (op.code == Code::kExtImport && op.ref) binding(s.ref, op.ref).given = true;
  if (op.code == Code::kClose) {
    // After the close, the number may mean another file, so the name stands for nothing.
    if (op.ref && bound(s.ref, op.ref).given) return answer;
    if (op.ref) binding(s.ref, op.ref).state = Binding::kUnbound;
    if (!usable || first == 0) return answer;
    ::close(static_cast<int>(first));
    if (on_close) on_close(static_cast<int>(first));
    answer.run = true;
    return answer;
  }
  if (!usable) return answer;
  answer.run = true;
  if (op.code == Code::kContext) {
    if (op.place >= devices()) {
      answer.result = CUDA_ERROR_INVALID_DEVICE;
      return answer;
    }
    const int thread = thread_of(op);
    used_[thread] = true;
    const calls::CtxSetCurrent change{contexts_[process][op.place]};
    on_thread(thread, [&] { answer.result = drivers_[process](change); });
    if (answer.result == CUDA_SUCCESS) current_[op.actor] = op.place;
    return answer;
  }
  const Operands operands{first, second, blobs_, memory_};
  on_thread(thread_of(op), [&] {
    answer.result = visit_call(op, operands, [&](const auto& call) -> CUresult {
      const CUresult result = visit(call);
      if (result == CUDA_SUCCESS) answer.value = out_value(call);
      return result;
    });
  });
  // On UNKNOWN the driver also closed the descriptor.
  const bool took = answer.result == CUDA_SUCCESS || answer.result == CUDA_ERROR_UNKNOWN;
  if (op.code == Code::kExtImport && op.ref && took) binding(s.ref, op.ref).taken = true;
  if (target && answer.result == CUDA_SUCCESS) *target = {Binding::kBound, made(op)};
  return answer;
}

}  // namespace cuvmm::fuzz
