// SPDX-License-Identifier: Apache-2.0
// Events of cuvmm's own, which --async=exact records behind each use. cuvmm uses each event many
// times.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

struct OwnEvent {
  std::uint64_t event = 0;  ///< 0: no event, and the other members have no meaning
  std::uint64_t context;
  std::uint64_t era;  ///< the number of ends of contexts before the event was made
};

/// An event that a launch's call is going to record behind the launch, and its stream.
struct ReservedEvent : OwnEvent {
  std::uint64_t stream;
};

/// A member of QueuedWork, whose lock guards it.
class OwnEvents {
 public:
  /// Puts a free event of this context into `own`; the event is 0 if none is free.
  void take(std::uint64_t context, OwnEvent& own) {
    own.context = context;
    own.era = era_;
    std::vector<std::uint64_t>& free = of(context);
    if (free.empty()) return;
    own.event = free.back();
    free.pop_back();
  }
  void give_back(std::uint64_t context, std::uint64_t event) { of(context).push_back(event); }
  void give_back(const OwnEvent& own) {
    if (own.era == era_) give_back(own.context, own.event);
  }
  /// Contexts ended, and their events ended with them.
  void clear() {
    ++era_;
    recent_ = nullptr;
    free_.clear();
  }

 private:
  // Most calls use the context of the call before.
  std::vector<std::uint64_t>& of(std::uint64_t context) {
    if (!recent_ || recent_context_ != context) [[unlikely]] {
      recent_context_ = context;
      recent_ = &free_[context];
    }
    return *recent_;
  }

  std::uint64_t era_ = 0;
  std::uint64_t recent_context_ = 0;
  std::vector<std::uint64_t>* recent_ = nullptr;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> free_;
};

// The driver's calls for such events. No caller holds the lock of QueuedWork.

/// Makes an event of the current context; 0 if the driver refuses.
inline std::uint64_t make_event(const Questions& ask) {
  CUevent event = nullptr;
  const bool made =
      ask.event_create && ask.event_create(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  return made ? reinterpret_cast<std::uintptr_t>(event) : 0;
}

/// Records the event behind all work that was queued to the stream so far.
inline bool record_event(const Questions& ask, std::uint64_t event, std::uint64_t stream) {
  return ask.event_record && ask.event_record(reinterpret_cast<CUevent>(event),
                                              reinterpret_cast<CUstream>(stream)) == CUDA_SUCCESS;
}

inline CUresult query_event(const Questions& ask, std::uint64_t event) {
  return ask.event_query ? ask.event_query(reinterpret_cast<CUevent>(event)) : CUDA_ERROR_NOT_FOUND;
}

}  // namespace cuvmm::shim
