// SPDX-License-Identifier: Apache-2.0
// Events of our own, which --async=exact records behind each use. They are used again and again.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shim/work/questions.h"

namespace cuvmm::shim {

/// Whoever takes or gives back holds the lock of the work room.
class OwnEvents {
 public:
  explicit OwnEvents(const Questions& ask) : ask_(ask) {}

  /// One of this context, or 0.
  std::uint64_t take(std::uint64_t context) {
    std::vector<std::uint64_t>& free = free_[context];
    if (free.empty()) return 0;
    const std::uint64_t event = free.back();
    free.pop_back();
    return event;
  }
  void give_back(std::uint64_t context, std::uint64_t event) { free_[context].push_back(event); }
  /// Contexts ended, and their events with them.
  void clear() { free_.clear(); }

  /// A new one of the current context, or 0. Without the lock.
  std::uint64_t make() const {
    CUevent event = nullptr;
    const bool made =
        ask_.event_create && ask_.event_create(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
    return made ? reinterpret_cast<std::uintptr_t>(event) : 0;
  }
  /// Behind what the stream was given so far. Without the lock.
  bool record(std::uint64_t event, std::uint64_t stream) const {
    return ask_.event_record &&
           ask_.event_record(reinterpret_cast<CUevent>(event),
                             reinterpret_cast<CUstream>(stream)) == CUDA_SUCCESS;
  }
  CUresult query(std::uint64_t event) const {
    return ask_.event_query ? ask_.event_query(reinterpret_cast<CUevent>(event))
                            : CUDA_ERROR_NOT_FOUND;
  }

 private:
  const Questions& ask_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> free_;
};

}  // namespace cuvmm::shim
