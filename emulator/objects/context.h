// SPDX-License-Identifier: Apache-2.0
// Contexts, and each thread's stack of current ones.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace cuvmm::emulator {

/// Multiprocessors of a device, from `first` on.
struct DevicePart {
  int device = 0;
  unsigned first = 0, count = 0;
};

/// The object behind a CUcontext. Never deleted: a stale handle must still lead to valid memory.
struct Context {
  int device = 0;
  bool primary = false;
  bool alive = false;
  unsigned flags = 0;
  std::uint64_t id = 0;
  CUresult fault = CUDA_SUCCESS;  ///< set when its work failed: the error that nearly every call
                                  ///< answers from then on
  unsigned references = 0;        ///< primary contexts: retains minus releases
  std::size_t limits[CU_LIMIT_MAX] = {};
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  std::set<const Context*> peers;  ///< the contexts that cuCtxEnablePeerAccess named
  /// A green context: the primary context whose memory, code and events it uses, and a part of that
  /// device. Only its streams are its own.
  Context* shares = nullptr;
  DevicePart part{};
  /// The context that the objects belong to which are made while this one is current.
  Context* owner() { return shares && alive ? shares : this; }
  CUgreenCtx green() { return shares ? reinterpret_cast<CUgreenCtx>(this) : nullptr; }
  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
};

/// All contexts of the process; the caller holds the emulator's lock.
class Contexts {
 public:
  /// One primary context per device, not alive yet.
  void open(int devices);
  Context& primary(int device) { return *primaries_[static_cast<std::size_t>(device)]; }
  Context& create(int device, unsigned flags);
  Context& create_green(const DevicePart& part);
  /// The fault that took the device from this process; SUCCESS: none did.
  CUresult& fault_of(int device) { return faults_[static_cast<std::size_t>(device)]; }
  /// body(context) for each context of the device that lives.
  template <class Body>
  void each_alive(int device, Body&& body) {
    for (const auto& context : all_) {
      if (context->device == device && context->alive) body(*context);
    }
  }
  /// The context behind a handle, alive or not; null for a value that never was a handle. For a
  /// live green context: its primary context.
  Context* find(CUcontext handle) const;
  /// As find(), but the green context itself.
  Context* find_itself(CUcontext handle) const;
  Context* find(CUgreenCtx handle) const;
  /// Keeps the description of a resource; null describes the whole device.
  CUdevResourceDesc describe(const DevicePart& part);
  const DevicePart* described(CUdevResourceDesc handle) const;

 private:
  std::vector<Context*> primaries_;
  std::vector<CUresult> faults_;
  std::vector<std::unique_ptr<Context>> all_;
  std::vector<std::unique_ptr<DevicePart>> described_;
};

/// The calling thread's contexts, the current one last. The class has no destructor: destructors of
/// the program's own objects, of thread-local objects too, may use the driver after a destructor
/// here would have run.
class ContextStack {
 public:
  static ContextStack& of_this_thread();
  Context* current() const {
    if (depth_ == 0) return nullptr;
    return depth_ <= kFew ? few_[depth_ - 1] : more_->context;
  }
  /// The current context, unless it has ended; for a green context its primary context.
  Context* live() const {
    Context* const context = current() ? current()->owner() : nullptr;
    return context && context->alive ? context : nullptr;
  }
  /// The current context if it is a green one.
  Context* green() const { return current() && current()->shares ? current() : nullptr; }
  /// Replaces the current context; null pops it.
  void set(Context* context);
  /// `until_pop`: the call that pushes has a matching pop.
  void push(Context* context, bool until_pop = false);
  void pop();
  /// Whether a push by the program waits for its pop.
  bool awaits_pop() const { return until_pop_ != 0 || depth_ > kFew; }

 private:
  struct Level {
    Context* context;
    Level* below;
  };

  static constexpr std::size_t kFew = 8;
  std::size_t depth_ = 0;
  Context* few_[kFew] = {};     ///< the lowest contexts of the stack
  std::uint8_t until_pop_ = 0;  ///< a bit for each of few_: pushed with `until_pop`
  /// The other contexts. A thread that ends while it has them leaks them.
  Level* more_ = nullptr;
};

}  // namespace cuvmm::emulator
