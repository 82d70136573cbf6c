// SPDX-License-Identifier: Apache-2.0
// When this process exported, opened, closed and freed memory of legacy IPC and of shared pools:
// what the runner needs to say that one process freed what another still had open.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Bounded: a long run keeps the first kMost uses. Its owner locks.
class IpcLog {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Times are CLOCK_MONOTONIC nanoseconds, which all processes of a machine share.
  static std::uint64_t now();

  /// `pool`: of a pool; the handle is what the pointer was exported as.
  void exported(const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
                bool pool = false) {
    add(true, handle, pointer, by, pool);
  }
  void opened(const IpcBytes& handle, std::uint64_t pointer, const Origin& by, bool pool = false) {
    add(false, handle, pointer, by, pool);
  }
  /// `by` ended the memory, by `at`.
  void freed(const IpcBytes& handle, const Origin& by, std::uint64_t at) {
    end(true, handle, by, at);
  }
  /// The last close, `by`, began at `at`: until then it was open for sure.
  void closed(const IpcBytes& handle, const Origin& by, std::uint64_t at) {
    end(false, handle, by, at);
  }
  /// Memory of a pool was freed: what this process had exported, or imported, at this address.
  void pool_memory_freed(std::uint64_t pointer, const Origin& by) {
    if (pools_ != 0) [[unlikely]]
      end_of_pool(pointer, by);
  }
  void clear() {
    uses_.clear();
    pools_ = 0;
  }

  /// A JSON array, "" when there is nothing to say. What is still open is so until now.
  std::string json() const;
  /// The stacks that json() names by their numbers, of at most `most` calls.
  std::set<StackId> stacks(std::size_t most) const;

 private:
  struct Use {
    bool exported = false;
    bool pool = false;
    std::uint64_t handle = 0;  ///< a hash: the bytes themselves give access
    std::uint64_t pointer = 0;
    Origin by;
    std::uint64_t from = 0;
    Origin ended_by;
    std::uint64_t until = 0;  ///< 0: not ended
  };
  void add(bool exported, const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
           bool pool);
  [[gnu::cold]] void end_of_pool(std::uint64_t pointer, const Origin& by);
  void end(bool exported, const IpcBytes& handle, const Origin& by, std::uint64_t at);

  std::vector<Use> uses_;
  std::size_t pools_ = 0;  ///< how many of them are of pools, and have not ended
};

}  // namespace cuvmm::shim
