// SPDX-License-Identifier: Apache-2.0
// A library that every C library can load, because it needs no other library and no symbol:
// LD_PRELOAD reaches programs of every C library. The shim needs glibc, and the loaders of other C
// libraries never find it (tools/installation/layout.h). In such a program this library leaves the
// program's name for `cuvmm run`, which reports at the end that the program was not checked. Under
// glibc this library does nothing.
#include <fcntl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

extern "C" {
extern char** environ __attribute__((weak));
const char* gnu_get_libc_version() __attribute__((weak));
}

namespace {

constexpr std::size_t kLongestPath = 4096;

long system_call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#else
  return -1;
#endif
}

long as_word(const void* pointer) { return reinterpret_cast<long>(pointer); }

// The value of the environment's entry that begins with `name` and '='; null if there is none.
const char* value_of(const char* name) {
  for (char** entry = environ; entry && *entry; ++entry) {
    const char* at = *entry;
    const char* wanted = name;
    while (*wanted && *at == *wanted) ++at, ++wanted;
    if (!*wanted && *at == '=') return at + 1;
  }
  return nullptr;
}

class Path {
 public:
  Path& text(const char* from) {
    while (*from) put(*from++);
    return *this;
  }
  Path& number(std::uint64_t value) {
    char digits[20];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    while (count > 0) put(digits[--count]);
    return *this;
  }
  // Null if the path was too long.
  const char* get() { return length_ < kLongestPath ? bytes_ : nullptr; }

 private:
  void put(char c) {
    if (length_ < kLongestPath) bytes_[length_] = c;
    if (++length_ < kLongestPath) bytes_[length_] = '\0';
  }
  char bytes_[kLongestPath];
  std::size_t length_ = 0;
};

// The name is the target of a symbolic link: this takes one call, no descriptor, and no bytes that
// RLIMIT_FSIZE counts.
[[gnu::constructor]] void leave_name() {
  if (gnu_get_libc_version || !&environ) return;
  const char* folder = value_of("CUVMM_REPORT_DIR");
  if (!folder || *folder != '/') return;
  char program[kLongestPath];
  const long length = system_call(SYS_readlinkat, AT_FDCWD, as_word("/proc/self/exe"),
                                  as_word(program), sizeof program - 1);
  if (length <= 0) return;
  program[length] = '\0';
  Path link;
  const long pid = system_call(SYS_getpid, 0, 0, 0, 0);
  link.text(folder).text("/").number(static_cast<std::uint64_t>(pid));
  // The address distinguishes programs that the process becomes by exec, because the process number
  // stays.
  link.text("-").number(reinterpret_cast<std::uintptr_t>(&program)).text(".other-libc");
  if (const char* path = link.get())
    system_call(SYS_symlinkat, as_word(program), AT_FDCWD, as_word(path), 0);
}

}  // namespace
