// SPDX-License-Identifier: Apache-2.0
// Fills the caches with other data and code, as a system call does.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cuvmm::bench {

/// Reads and writes `bytes` of data, and runs `bytes` of code with a jump in each cache line. They
/// displace the program's entries in the caches, the TLBs and the table of branch targets.
class Chill {
 public:
  explicit Chill(std::size_t bytes) : size_(bytes / kLine * kLine) {
    if (size_ == 0) return;
    // One mapping for data and code, so that only one result of mmap has to be tested.
    void* const both = ::mmap(nullptr, 2 * size_ + kLine, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) {
      size_ = 0;
      return;
    }
    data_ = static_cast<unsigned char*>(both);
    unsigned char* const code = data_ + size_;
    for (std::size_t at = 0; at < size_; at += kLine) put(code + at, kJump, sizeof kJump);
    put(code + size_, kReturn, sizeof kReturn);
    __builtin___clear_cache(reinterpret_cast<char*>(code),
                            reinterpret_cast<char*>(code + size_ + kLine));
    ::mprotect(data_, 2 * size_ + kLine, PROT_READ | PROT_WRITE | PROT_EXEC);
    std::memcpy(&run_, &code, sizeof run_);
  }
  Chill(const Chill&) = delete;
  Chill& operator=(const Chill&) = delete;
  ~Chill() {
    if (size_ != 0) ::munmap(data_, 2 * size_ + kLine);
  }

  void operator()() {
    if (size_ == 0) return;
    volatile unsigned char* const data = data_;
    for (std::size_t at = 0; at < size_; at += kLine) data[at] = data[at] + 1;
    run_();
  }

 private:
  static constexpr std::size_t kLine = 64;  // bytes
#if defined(__x86_64__)
  static constexpr unsigned char kJump[] = {0xeb, 0x3e};  // to the next line
  static constexpr unsigned char kReturn[] = {0xc3};
#elif defined(__aarch64__)
  static constexpr std::uint32_t kJump[] = {0x14000010};
  static constexpr std::uint32_t kReturn[] = {0xd65f03c0};
#endif

  static void put(unsigned char* to, const void* code, std::size_t size) {
    std::memcpy(to, code, size);
  }

  std::size_t size_;
  unsigned char* data_ = nullptr;
  void (*run_)() = nullptr;
};

}  // namespace cuvmm::bench
