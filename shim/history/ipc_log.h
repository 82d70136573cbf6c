// SPDX-License-Identifier: Apache-2.0
// The times at which this process exported, opened, closed and freed memory of legacy IPC and of
// shared pools: `cuvmm run` needs them to find that one process freed memory which another still
// had open.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Bounded: of a long run only the first kMost uses are stored. The owner of the log holds a lock.
class IpcLog {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Times are CLOCK_MONOTONIC nanoseconds, which all processes of a machine share.
  static std::uint64_t now();

  /// `pool`: the memory is a pool's; then the handle is the data by which the pointer was exported.
  void exported(const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
                bool pool = false) {
    add(true, handle, pointer, by, pool);
  }
  void opened(const IpcBytes& handle, std::uint64_t pointer, const Origin& by) {
    add(false, handle, pointer, by, false);
  }
  /// The import of memory of a pool began at `began`.
  void imported(const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
                std::uint64_t began) {
    add(false, handle, pointer, by, true, began);
  }
  /// `by` ended the memory, by `at`.
  void freed(const IpcBytes& handle, const Origin& by, std::uint64_t at) {
    end(true, handle, by, at);
  }
  /// The last close, `by`, began at `at`: until then it was open for sure.
  void closed(const IpcBytes& handle, const Origin& by, std::uint64_t at) {
    end(false, handle, by, at);
  }
  /// Memory of a pool was freed: ends the export or the import of it by this process, at this
  /// address.
  void pool_memory_freed(std::uint64_t pointer, const Origin& by) {
    if (pools_ != 0) [[unlikely]]
      end_of_pool(pointer, by);
  }
  void clear() {
    uses_.clear();
    pools_ = 0;
  }

  /// A JSON array, "" if the log is empty. Memory that is still open counts as open until now.
  std::string json() const;
  /// The stacks that json() names by their numbers, of at most `most` calls.
  std::set<StackId> stacks(std::size_t most) const;

 private:
  struct Use {
    bool exported = false;
    bool pool = false;
    std::uint64_t handle = 0;  ///< a hash, because the bytes themselves give access to the memory
    std::uint64_t pointer = 0;
    Origin by;
    std::uint64_t began = 0;  ///< when the call that opened it began; 0 unknown
    std::uint64_t from = 0;
    Origin ended_by;
    std::uint64_t until = 0;  ///< 0: not ended
  };
  void add(bool exported, const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
           bool pool, std::uint64_t began = 0);
  [[gnu::cold]] void end_of_pool(std::uint64_t pointer, const Origin& by);
  void end(bool exported, const IpcBytes& handle, const Origin& by, std::uint64_t at);

  std::vector<Use> uses_;
  std::size_t pools_ = 0;  ///< how many uses are of pools and have not ended
};

}  // namespace cuvmm::shim
