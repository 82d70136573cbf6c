// SPDX-License-Identifier: Apache-2.0
// System calls and small functions on bytes, for code that runs before libc does. A result from
// -4095 to -1 is a negative errno.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::redirect {

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long word(const void* pointer) { return reinterpret_cast<long>(pointer); }

inline bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}
inline bool starts_with(const char* text, const char* prefix) {
  while (*prefix && *text == *prefix) ++text, ++prefix;
  return !*prefix;
}
/// The part of a path after its last '/'.
inline const char* file_name(const char* path) {
  const char* name = path;
  for (; *path; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}
inline bool same_bytes(const unsigned char* a, const unsigned char* b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Writes "cuvmm emulator: PARTS\n" to stderr.
template <class... Parts>
void complain(const Parts*... parts) {
  char text[1024];
  std::size_t size = 0;
  const auto add = [&](const char* part) {
    while (*part && size + 1 < sizeof text) text[size++] = *part++;
  };
  add("cuvmm emulator: ");
  (add(parts), ...);
  text[size++] = '\n';
  constexpr long kWrite = 1;
  system_call(kWrite, 2, word(text), static_cast<long>(size));
}

}  // namespace cuvmm::redirect
