// SPDX-License-Identifier: Apache-2.0
// When this process exported, opened, closed and freed memory of legacy IPC: what the runner needs
// to say that one process freed what another still had open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rulebook/model/model.h"

namespace cuvmm::shim {

/// Bounded: a long run keeps the first kMost uses. Its owner locks.
class IpcLog {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Times are CLOCK_MONOTONIC nanoseconds, which all processes of a machine share.
  static std::uint64_t now();

  void exported(const IpcBytes& handle, std::uint64_t call) { add(true, handle, call); }
  void opened(const IpcBytes& handle, std::uint64_t call) { add(false, handle, call); }
  /// `call` ended the memory, by `at`.
  void freed(const IpcBytes& handle, std::uint64_t call, std::uint64_t at) {
    end(true, handle, call, at);
  }
  /// The last close began at `at`: until then it was open for sure.
  void closed(const IpcBytes& handle, std::uint64_t call, std::uint64_t at) {
    end(false, handle, call, at);
  }
  void clear() { uses_.clear(); }

  /// A JSON array, "" when there is nothing to say. What is still open is so until now.
  std::string json() const;

 private:
  struct Use {
    bool exported = false;
    std::uint64_t handle = 0;  ///< a hash: the bytes themselves give access
    std::uint64_t call = 0, from = 0;
    std::uint64_t ended_by = 0, until = 0;  ///< 0: not ended
  };
  void add(bool exported, const IpcBytes& handle, std::uint64_t call);
  void end(bool exported, const IpcBytes& handle, std::uint64_t call, std::uint64_t at);

  std::vector<Use> uses_;
};

}  // namespace cuvmm::shim
