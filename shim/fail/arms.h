// SPDX-License-Identifier: Apache-2.0
// Failures that the program itself requests for a part of its run (cuvmm_fail of
// include/cuvmm/cuvmm.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "injected_failures/spec.h"
#include "shim/base/owned_mutex.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Thread-safe.
class Arms {
 public:
  /// From here on calls fail by the specification; its counts begin now. Returns a token for the
  /// specification.
  long open(injected_failures::Spec spec);
  /// Ends the specification of this token. Returns how many calls it made fail; nullopt if the
  /// token is not open.
  std::optional<std::uint64_t> close(long token);
  /// {"calls":N,"failures":N,"failed":[{"call","number","result"}]}: the number of calls that can
  /// fail and give nothing up, and the first calls that were made to fail.
  std::optional<std::string> report(long token);

  bool any() const { return open_.load(std::memory_order_relaxed) != 0; }
  /// The injected answer to the call; nullopt if the call is to be made. All open specifications
  /// count the call.
  std::optional<CUresult> answer(EntryPoint entry, const injected_failures::CallFacts& facts,
                                 const Caller& caller);

 private:
  struct Failed {
    EntryPoint entry = EntryPoint::kCount;
    std::uint64_t number = 0;  ///< counts the calls that can fail
    CUresult code = CUDA_SUCCESS;
  };
  struct Arm {
    injected_failures::Spec spec;
    std::vector<std::uint64_t> counts;  ///< by clause
    std::uint64_t calls = 0, failures = 0;
    std::vector<Failed> failed;
  };
  static std::optional<CUresult> strike(Arm& arm, EntryPoint entry,
                                        const injected_failures::CallFacts& facts, StackId stack);

  std::atomic<std::size_t> open_{0};
  OwnedMutex mutex_;
  long last_ CUVMM_GUARDED_BY(mutex_) = 0;
  std::map<long, Arm> arms_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
