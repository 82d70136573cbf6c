// SPDX-License-Identifier: Apache-2.0
// The knowledge of launches' arguments: where they lie, and which of them are right.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/queued_work/arguments/argument_cache.h"
#include "shim/queued_work/arguments/layouts.h"
#include "shim/queued_work/arguments/tensor_maps.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

/// Thread-safe: each part has its own lock, or needs none.
class KnownArguments {
 public:
  /// `unordered`: the `hints` of Layouts.
  KnownArguments(const Questions& questions, bool unordered) : layouts_(questions, unordered) {}

  Layouts& layouts() { return layouts_; }
  TensorMaps& tensor_maps() { return tensor_maps_; }
  /// The arguments that checks found right in this generation().
  ArgumentCache& right() { return right_; }
  /// Raised by each change after which an argument may point to other memory.
  std::uint64_t generation() const {
    return model_changes_.load(std::memory_order_acquire) +
           changes_.load(std::memory_order_acquire);
  }
  void changed() { changes_.fetch_add(1, std::memory_order_release); }
  /// changed() under the model's lock, where one thread writes at a time: the store needs no locked
  /// instruction.
  void model_changed() {
    model_changes_.store(model_changes_.load(std::memory_order_relaxed) + 1,
                         std::memory_order_release);
  }

  bool held_here() const { return layouts_.held_here() || tensor_maps_.held_here(); }
  void lock_for_fork() CUVMM_UNCHECKED {
    layouts_.lock_for_fork();
    tensor_maps_.lock_for_fork();
  }
  void unlock_after_fork() CUVMM_UNCHECKED {
    tensor_maps_.unlock_after_fork();
    layouts_.unlock_after_fork();
  }
  /// Called only in a child of fork, which has one thread. Abandons tables that another thread was
  /// changing at the fork.
  void restart(bool whole) CUVMM_UNCHECKED {
    layouts_.restart(whole);
    tensor_maps_.restart(whole);
  }

 private:
  std::atomic<std::uint64_t> model_changes_{1};
  std::atomic<std::uint64_t> changes_{0};  ///< changes that were made without the model's lock
  ArgumentCache right_;
  Layouts layouts_;
  TensorMaps tensor_maps_;
};

}  // namespace cuvmm::shim
