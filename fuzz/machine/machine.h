// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a program on a driver: names become values, ops become call structs.
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

/// What one op answered.
struct Answer {
  bool run = false;  ///< false: a reference whose maker failed, or nothing to call
  CUresult result = CUDA_SUCCESS;
  std::uint32_t value = 0;  ///< flags, granularity, digest of properties or bytes; 0 for none
};

/// What an out-parameter says that makes no name: flags, a size, a digest of properties or of
/// `bytes` bytes; 0 for the other ones.
std::uint32_t value_said(ParameterKind kind, const void* out, std::size_t bytes);
/// The same of a call that succeeded.
template <class CallStruct>
std::uint32_t value_said(const CallStruct& call) {
  std::size_t bytes = 0;
  if constexpr (requires { call.ByteCount; }) bytes = call.ByteCount;
  std::uint32_t value = 0;
  call.visit([&]<class Field>(ParameterKind kind, const char*, const Field& field) {
    if constexpr (std::is_pointer_v<Field>) {
      if (field) value |= value_said(kind, field, bytes);
    }
  });
  return value;
}

/// One process's driver with its contexts, for any number of programs one after the other; another
/// process's too where there is one. Names stand for the same numbers in both.
class Machine {
 public:
  /// Initialises the drivers; error() says what failed. Without `other` the ops of the second
  /// process are not run. Without `multicast` nothing of api/multicast.h is called, whoever asks;
  /// and none that a driver of CUDA `version` lacks, by since().
  explicit Machine(const Driver& driver, bool multicast = false,
                   const std::optional<Driver>& other = std::nullopt, int version = 0);
  const std::string& error() const { return error_; }
  int devices() const { return static_cast<int>(contexts_[0].size()); }
  const Driver& driver(int process = 0) const { return drivers_[process]; }
  int processes() const { return static_cast<int>(drivers_.size()); }

  /// Before a program: nothing is bound, device 0 is current to the first thread of each process
  /// and none to the others.
  void start();
  /// The contexts that start() makes current, and nothing else. A thread that is not the caller
  /// gets its own when it is next used.
  void make_current();
  /// Device of the current context of an op's actor; -1 for none.
  int device_of(int actor) const { return current_[actor]; }

  /// Makes the op's call through `visit(call)`, which returns its CUresult, on the op's thread.
  template <class Visit>
  Answer step(const Op& op, Visit&& visit);
  /// Runs on one of the threads; thread 0 is the caller. What another process does starts here,
  /// too. Inside, what is for the same thread is run at once.
  template <class Work>
  void on_thread(int thread, Work&& work);

  /// The descriptor that a name stands for was closed by the program; for `closed` of step().
  std::function<void(int)> on_close;

 private:
  struct Binding {
    enum : std::uint8_t { kUnbound, kFailed, kBound } state = kUnbound;
    std::uint64_t value = 0;
    bool given = false;  ///< a descriptor that was offered as external memory: no longer closed
    bool taken = false;  ///< and was closed by the driver, whose its number is now
  };
  const Binding& bound(NameKind kind, std::uint8_t name) const {
    return bindings_[static_cast<std::size_t>(kind)][name];
  }
  /// The same to be changed.
  Binding& binding(NameKind kind, std::uint8_t name) {
    Binding& out = bindings_[static_cast<std::size_t>(kind)][name];
    used_bindings_.push_back(&out);
    return out;
  }
  /// The value of the name that a success makes.
  std::uint64_t made(NameKind kind);

  std::vector<Driver> drivers_;  // by process
  bool multicast_ = false;
  int version_ = 0;
  std::string error_;
  std::vector<CUcontext> contexts_[kProcesses];
  Binding bindings_[kNameKinds][256];
  std::vector<Binding*> used_bindings_;  ///< all that may be other than at the start
  int current_[kActors] = {0, -1, -1, 0};
  bool used_[kThreads] = {};   ///< has a context that start() does not give it
  bool stale_[kThreads] = {};  ///< still has one of an earlier program
  std::unique_ptr<Worker> workers_[kThreads];
  int running_ = 0;  ///< the thread that on_thread() is on
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
  // Without a place to write to the name is not even bound again.
  const bool makes = s.makes != NameKind::kNone && !(op.faults & kNullOut);
  Binding* target = makes ? &binding(s.makes, op.name) : nullptr;
  const auto value = [&](NameKind kind, std::uint8_t name, bool& usable) -> std::uint64_t {
    if (kind == NameKind::kNone || name == 0) return 0;
    const Binding& b = bound(kind, name);
    if (b.state == Binding::kFailed) usable = false;
    // A descriptor is handed over while it is open; the driver may have closed this one.
    if (b.given && process_of(op) != 0) usable = false;
    // Whose file has the number of a descriptor that was taken is the driver's own affair.
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
    // A number that is closed may come back as somebody else's: the name stands for nothing now.
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
      if (result == CUDA_SUCCESS) answer.value = value_said(call);
      return result;
    });
  });
  // UNKNOWN: it looked at the descriptor, and closed it all the same.
  const bool took = answer.result == CUDA_SUCCESS || answer.result == CUDA_ERROR_UNKNOWN;
  if (op.code == Code::kExtImport && op.ref && took) binding(s.ref, op.ref).taken = true;
  if (target && answer.result == CUDA_SUCCESS) *target = {Binding::kBound, made(s.makes)};
  return answer;
}

}  // namespace cuvmm::fuzz
