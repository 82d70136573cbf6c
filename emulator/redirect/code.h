// SPDX-License-Identifier: Apache-2.0
// Jumps that are written into the machine code of this process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::redirect {

/// Bytes of a jump to any address, and of a jump within 2 GiB.
inline constexpr std::size_t kFarJump = 14, kNearJump = 5;

/// A short piece of code that is put together.
class Piece {
 public:
  Piece& far_jump(const void* target);
  /// The piece will lie at `from`.
  Piece& near_jump(std::uint64_t from, std::uint64_t target);
  /// Loads the first argument of the function that runs next.
  Piece& argument(const void* value);

  const unsigned char* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  void add(std::uint64_t value, std::size_t size);
  unsigned char bytes_[32];
  std::size_t size_ = 0;
};

/// The bytes at the front of `code` that a branch target needs (endbr64), and that stay.
std::size_t branch_mark(const unsigned char* code, std::size_t size);

/// Of `size` bytes at `code`, the number of those at the front that are only padding: nop, int3.
std::size_t padding(const unsigned char* code, std::size_t size);

/// Writes into code. Code that the process executes stays executable at all times.
class CodeWriter {
 public:
  CodeWriter();
  ~CodeWriter();
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;

  /// False where the system refuses, and then nothing is changed.
  bool write(std::uint64_t address, const Piece& piece);

 private:
  long memory_;  ///< a descriptor of /proc/self/mem
};

}  // namespace cuvmm::redirect
