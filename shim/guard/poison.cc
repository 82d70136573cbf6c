// SPDX-License-Identifier: Apache-2.0
#include "shim/guard/poison.h"

#include <algorithm>
#include <cerrno>

#include "api/posix/cancel_off.h"

namespace cuvmm::shim {

int Poison::device() const {
  const CancelOff no_cancel;
  const int program_errno = errno;
  CUcontext context = nullptr;
  CUdevice device = -1;
  const bool there = driver_(calls::CtxGetCurrent{&context}) == CUDA_SUCCESS && context &&
                     driver_(calls::CtxGetDevice{&device}) == CUDA_SUCCESS;
  errno = program_errno;
  return there ? device : -1;
}

void Poison::fill(std::uint64_t address, std::uint64_t size, std::uint32_t pattern) noexcept {
  if (captures_.load(std::memory_order_acquire) != 0) {
    in_capture_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const CancelOff no_cancel;
  const int program_errno = errno;
  const std::uint64_t bytes = emulated_ ? std::min(size, kMostOnEmulator) : size;
  if (fill_beside(address, bytes, pattern) == CUDA_SUCCESS) {
    filled_.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    refused_.fetch_add(1, std::memory_order_relaxed);
  }
  errno = program_errno;
}

// Fills on a stream of its own, which waits for no other stream, so that an order that the program
// forgot stays missing.
CUresult Poison::fill_beside(std::uint64_t address, std::uint64_t size,
                             std::uint32_t pattern) const {
  CUstream stream = nullptr;
  CUresult result = driver_(calls::StreamCreate{&stream, CU_STREAM_NON_BLOCKING});
  if (result != CUDA_SUCCESS) return result;
  result = driver_(calls::MemsetD32Async{address, pattern, size / sizeof pattern, stream});
  if (result == CUDA_SUCCESS) result = driver_(calls::StreamSynchronize{stream});
  driver_(calls::StreamDestroy{stream});
  return result;
}

void Poison::capturing(CUstream stream) {
  const Locked lock(mutex_);
  capturing_.insert(stream);
  captures_.store(capturing_.size(), std::memory_order_release);
}

void Poison::captured(CUstream stream) noexcept {
  if (captures_.load(std::memory_order_acquire) == 0) return;
  const Locked lock(mutex_);
  const auto found = capturing_.find(stream);
  if (found != capturing_.end()) capturing_.erase(found);
  captures_.store(capturing_.size(), std::memory_order_release);
}

std::string Poison::missing() const {
  std::string text;
  const auto say = [&](const std::atomic<std::uint64_t>& count, const char* why) {
    const std::uint64_t n = count.load(std::memory_order_relaxed);
    if (n != 0) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + why;
  };
  say(left_, "because the thread had no context that may write there");
  say(in_capture_, "because a stream captured");
  say(refused_, "because the driver refused");
  return text.empty() ? "" : "--poison left mappings as they were: " + text;
}

}  // namespace cuvmm::shim
