// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/stream.h"

namespace cuvmm::emulator {

namespace {
constexpr std::uintptr_t kStep = 0x10;
}

CUstream Streams::create_stream(Context* context, unsigned flags, int priority, Context* green) {
  const auto handle = reinterpret_cast<CUstream>(next_ += kStep);
  streams_[handle] = {context, flags, priority, ++last_id_, green};
  return handle;
}

std::uint64_t Streams::id_of_default(CUstream stream) {
  constexpr std::uint64_t kLegacy = 7;  // recorded
  if (stream != CU_STREAM_PER_THREAD) return kLegacy;
  static thread_local std::uint64_t own = 0;
  return own ? own : own = ++last_id_;
}

CUevent Streams::create_event(Context* context, unsigned flags) {
  const auto handle = reinterpret_cast<CUevent>(next_ += kStep);
  events_[handle] = {context, flags, false, 0, {}, {}, nullptr};
  return handle;
}

void Streams::end_those_of(const Context& context) {
  const auto of_it = [&](const auto& entry) { return entry.second.context == &context; };
  std::erase_if(streams_, [&](const auto& entry) {
    if (!of_it(entry)) return false;
    // Behind the next retain of a primary context, an H200 does not know them any more.
    if (!context.primary) ended_streams_.insert(entry.first);
    return true;
  });
  std::erase_if(events_, [&](const auto& entry) {
    return of_it(entry) && ended_events_.insert(entry.first).second;
  });
}

void Streams::end_green(const Context& green) {
  std::erase_if(streams_, [&](const auto& entry) {
    return entry.second.green == &green && ended_streams_.insert(entry.first).second;
  });
}

std::vector<CUstream> Streams::of(const Context& context) const {
  std::vector<CUstream> out;
  for (const auto& [handle, stream] : streams_) {
    if ((stream.green ? stream.green : stream.context) == &context) out.push_back(handle);
  }
  return out;
}

CUresult Streams::no_stream(CUstream handle) const {
  return ended_streams_.contains(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                         : CUDA_ERROR_INVALID_HANDLE;
}

const Stream* Streams::find(CUstream stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

Event* Streams::find(CUevent event) {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : &found->second;
}

CUresult Streams::no_event(CUevent handle) const {
  return ended_events_.contains(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                        : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace cuvmm::emulator
