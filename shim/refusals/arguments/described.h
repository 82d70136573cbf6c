// SPDX-License-Identifier: Apache-2.0
// The arguments of refused calls that no rule explains, and the likely reasons. The driver's log
// names only function and result (shim/refusals/journal.h).
#pragma once

#include <cuda.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

/// The descriptions of refused calls: the first call of each function and result. Thread-safe.
class DescribedRefusals {
 public:
  struct Description {
    std::vector<std::pair<std::string, std::string>> arguments;  ///< names and values
    std::vector<std::string> reasons;
  };
  bool knows(std::string_view function, CUresult result);
  void add(std::string_view function, CUresult result, const Description& description);
  /// The description of a call of this function. The name may end as a symbol's does ("_v2",
  /// "_ptsz").
  Description of(std::string_view symbol, CUresult result);
  /// Called only in a child of fork, which has one thread.
  void clear() CUVMM_UNCHECKED;

 private:
  static constexpr std::size_t kMost = 256;

  OwnedMutex mutex_;
  std::map<std::pair<std::string, CUresult>, Description> all_ CUVMM_GUARDED_BY(mutex_);
};

/// Never destroyed, because threads that outlive main() make calls.
DescribedRefusals& described_refusals() noexcept;

}  // namespace cuvmm::shim
