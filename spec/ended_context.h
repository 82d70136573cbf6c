// What may have ended with a context.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "spec/external_state.h"
#include "spec/ipc_state.h"
#include "spec/pool_state.h"

namespace cuvmm {

/// What a call that ends a context takes out of the model. It leaves no tombstones: of most of it
/// nobody said what becomes of it, so that it is unknown from then on, and never wrong.
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

/// Ends of objects that the model does not know, seen while a context was perhaps ending: had they
/// been taken out with it, they must not come back. Written down only while there is such a call.
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
