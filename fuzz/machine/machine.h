// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a program on a driver: names become values, ops become call structs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>

#include "api/driver.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// What one op answered.
struct Answer {
  bool run = false;  ///< false: a reference whose maker failed, or nothing to call
  CUresult result = CUDA_SUCCESS;
  std::uint32_t value = 0;  ///< flags, granularity, digest of properties or bytes; 0 for none
};

/// A thread that runs one thing at a time while its caller waits.
class Helper {
 public:
  Helper();
  ~Helper();
  void run(const std::function<void()>& work);

 private:
  // Not a condition variable: its mutex would wake each of the two twice.
  std::binary_semaphore asked_{0}, done_{0};
  const std::function<void()>* work_ = nullptr;  ///< null: the end
  int core_ = -1;
  std::thread thread_;
};

/// One process's driver with its contexts, for any number of programs one after the other; another
/// process's too where there is one. Names stand for the same numbers in both.
class Machine {
 public:
  /// Initialises the drivers; error() says what failed. Without `other` the ops of the second
  /// process are not run. Without `multicast` no cuMulticast* is called, whoever asks for it.
  explicit Machine(const Driver& driver, bool multicast = false,
                   const std::optional<Driver>& other = std::nullopt);
  const std::string& error() const { return error_; }
  int devices() const { return static_cast<int>(contexts_[0].size()); }
  const Driver& driver(int process = 0) const { return drivers_[process]; }
  int processes() const { return static_cast<int>(drivers_.size()); }

  /// Before a program: nothing is bound, device 0 is current to the first thread of each process
  /// and none to the others.
  void start();
  /// The contexts that start() makes current, and nothing else.
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
  struct Outputs {
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    std::size_t size = 0;
    unsigned long long flags = 0;
    alignas(16) unsigned char shareable[64] = {};
    CUmemAllocationProp prop{};
    CUexternalMemory external = nullptr;
    CUmemoryPool pool = nullptr;
    std::array<unsigned char, 64> blob = {};
    unsigned char bytes[1024] = {};
  };

  Binding& binding(NameKind kind, std::uint8_t name) {
    return bindings_[static_cast<std::size_t>(kind)][name];
  }
  template <class Visit>
  CUresult call(const Op& op, std::uint64_t first, std::uint64_t second, Visit& visit);
  /// The calls of other areas than VMM, in machine_areas.h.
  template <class Visit>
  CUresult call_area(const Op& op, std::uint64_t first, std::uint64_t second, Visit& visit);
  std::uint64_t made(const Op& op);
  std::uint32_t value_of(const Op& op) const;

  std::vector<Driver> drivers_;  // by process
  bool multicast_ = false;
  std::string error_;
  std::vector<CUcontext> contexts_[kProcesses];
  Binding bindings_[kNameKinds][256];
  int current_[kActors] = {0, -1, -1, 0};
  bool used_[kThreads] = {};
  std::unique_ptr<Helper> helpers_[kThreads];
  int running_ = 0;  ///< the thread that on_thread() is on
  Outputs out_;
  std::vector<std::array<unsigned char, 64>> blobs_;  ///< a name is worth an index + 1
  CUmemAllocationProp prop_{};
  CUmemAccessDesc access_[2] = {};
  CUmemLocation location_{};
};

}  // namespace cuvmm::fuzz
