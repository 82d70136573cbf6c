// SPDX-License-Identifier: Apache-2.0
// Runs work in a child process, with memory in which the child leaves its result.
#pragma once

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <string>

namespace cuvmm::fuzz {

/// A T that outlives the child that writes it. False where there is no memory.
template <class T>
class SharedWithChild {
 public:
  SharedWithChild() {
    void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) value_ = new (at) T;
  }
  ~SharedWithChild() {
    if (value_) munmap(value_, sizeof(T));
  }
  SharedWithChild(const SharedWithChild&) = delete;
  SharedWithChild& operator=(const SharedWithChild&) = delete;
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_ = nullptr;
};

/// Writes as much of the text as fits. The memory must be zero before.
template <std::size_t size>
void put(char (&to)[size], const std::string& text) {
  std::strncpy(to, text.c_str(), size - 1);
}

/// Exit code of a child that has written down why it ended.
inline constexpr int kReasonWritten = 2;

/// Runs `work` in a child. Returns "" where it returned, or ended with kReasonWritten; else how the
/// child died: "signal:SIGSEGV", or "timeout" where it was killed because it took longer than
/// `time`.
std::string in_child(const std::function<void()>& work, std::chrono::milliseconds time);

}  // namespace cuvmm::fuzz
