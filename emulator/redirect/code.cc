// SPDX-License-Identifier: Apache-2.0
#include "emulator/redirect/code.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "emulator/redirect/system.h"

namespace cuvmm::redirect {

namespace {

constexpr long kPage = 4096;

// The length of the nop at `code`; 0: other code. A nop may have prefixes (66, 2e), and a long one
// an operand in memory, which the processor does not access.
std::size_t nop_length(const unsigned char* code, std::size_t size) {
  std::size_t at = 0;
  while (at < size && (code[at] == 0x66 || code[at] == 0x2e)) ++at;
  if (at < size && code[at] == 0x90) return at + 1;
  if (at + 3 > size || code[at] != 0x0f || code[at + 1] != 0x1f) return 0;
  const unsigned mode = code[at + 2] >> 6U, base = code[at + 2] & 7U;
  if (mode == 3) return 0;
  constexpr std::size_t kDisplacement[] = {0, 1, 4};
  const std::size_t length = at + 3 + (base == 4 ? 1 : 0) + kDisplacement[mode];
  return length <= size ? length : 0;
}

}  // namespace

void Piece::add(std::uint64_t value, std::size_t size) {
  for (; size > 0; --size, value >>= 8U) bytes_[size_++] = static_cast<unsigned char>(value);
}

// jmp *0(%rip), and the address behind it. The prefix notrack is not needed: it would matter to a
// kernel that enforces branch marks alone, and the targets have those marks where the compiler
// writes them.
Piece& Piece::far_jump(const void* target) {
  add(0x25ff, 2);
  add(0, 4);
  add(reinterpret_cast<std::uint64_t>(target), 8);
  return *this;
}

Piece& Piece::near_jump(std::uint64_t from, std::uint64_t target) {
  add(0xe9, 1);
  add(target - from - size_ - 4, 4);
  return *this;
}

// movabs $value, %rdi
Piece& Piece::argument(const void* value) {
  add(0xbf48, 2);
  add(reinterpret_cast<std::uint64_t>(value), 8);
  return *this;
}

std::size_t branch_mark(const unsigned char* code, std::size_t size) {
  constexpr unsigned char kMark[] = {0xf3, 0x0f, 0x1e, 0xfa};
  return size >= sizeof kMark && same_bytes(code, kMark, sizeof kMark) ? sizeof kMark : 0;
}

std::size_t padding(const unsigned char* code, std::size_t size) {
  std::size_t at = 0;
  while (at < size) {
    const std::size_t length = code[at] == 0xcc ? 1 : nop_length(code + at, size - at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

CodeWriter::CodeWriter()
    : memory_(system_call(SYS_open, word("/proc/self/mem"), O_RDWR | O_CLOEXEC)) {}

CodeWriter::~CodeWriter() {
  if (memory_ >= 0) system_call(SYS_close, memory_);
}

// Through /proc/self/mem, the pages keep their protection. Some systems refuse that. Then the pages
// are writable for a moment, and executable all the time, because a system that lets no page become
// executable would let it never run again.
bool CodeWriter::write(std::uint64_t address, const Piece& piece) {
  const long at = static_cast<long>(address), size = static_cast<long>(piece.size());
  if (memory_ >= 0 && system_call(SYS_pwrite64, memory_, word(piece.bytes()), size, at) == size)
    return true;
  const long first = at & -kPage, length = ((at + size + kPage - 1) & -kPage) - first;
  if (system_call(SYS_mprotect, first, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return false;
  auto* const code = reinterpret_cast<volatile unsigned char*>(address);
  for (long i = 0; i < size; ++i) code[i] = piece.bytes()[i];
  system_call(SYS_mprotect, first, length, PROT_READ | PROT_EXEC);
  return true;
}

}  // namespace cuvmm::redirect
