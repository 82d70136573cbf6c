// SPDX-License-Identifier: Apache-2.0
// What may have ended with a context.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rulebook/data/pool_state.h"
#include "rulebook/sharing/external_state.h"
#include "rulebook/sharing/ipc_state.h"

namespace cuvmm {

/// What a call that ends a context takes out of the model. It leaves no tombstones: the
/// documentation mostly does not say what becomes of these objects. So they are unknown from then
/// on, and using them is never called wrong.
struct EndedContext {
  bool ending = false;  ///< such a call is under way
  int device = -1;      ///< whose primary context it is; -1: none is
  std::vector<IpcExport> ipc_exports;
  std::vector<IpcOpen> ipc_opens;
  std::vector<Pool> pools;
  std::vector<PoolMemory> pool_memory;
  std::optional<std::uint64_t> current_pool;    ///< what cuDeviceSetMemPool had set
  std::optional<std::uint64_t> default_access;  ///< to the device's default pool
  std::vector<ExternalMemory> memories;
  std::vector<ExternalBuffer> buffers;
  std::vector<ExternalSemaphore> semaphores;
};

/// Objects that were ended while a call was ending a context, and that the model did not know. The
/// call may have taken them out of the model; if it fails, they must not be put back. Noted only
/// while there is such a call.
class EndsMeanwhile {
 public:
  void begin() { ++calls_; }
  void end() {
    if (--calls_ == 0) ended_.clear();
  }
  void note(ObjectRef::Kind kind, std::uint64_t value) {
    if (calls_ != 0) [[unlikely]]
      ended_.emplace_back(kind, value);
  }
  bool contains(ObjectRef::Kind kind, std::uint64_t value) const {
    for (const auto& one : ended_) {
      if (one == std::pair(kind, value)) return true;
    }
    return false;
  }

 private:
  unsigned calls_ = 0;
  std::vector<std::pair<ObjectRef::Kind, std::uint64_t>> ended_;
};

}  // namespace cuvmm
