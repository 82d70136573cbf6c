// SPDX-License-Identifier: Apache-2.0
// Functions that this machine's headers and compiler need and an older glibc lacks. stubs.py makes
// an archive of these files; a build with CUVMM_GLIBC links the needed ones into each object, and
// never exports them. For x86-64.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// --- glibc 2.33: stat and its kin. Before 2.33 they were inline functions that called these. 1 is
// the version of x86-64's struct stat.
struct stat;
extern int __xstat(int version, const char* path, struct stat* status);
extern int __lxstat(int version, const char* path, struct stat* status);
extern int __fxstat(int version, int descriptor, struct stat* status);
extern int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);
enum { kStatVersion = 1 };

int stat(const char* path, struct stat* status);
int stat64(const char* path, struct stat* status);
int lstat(const char* path, struct stat* status);
int lstat64(const char* path, struct stat* status);
int fstat(int descriptor, struct stat* status);
int fstat64(int descriptor, struct stat* status);
int fstatat(int folder, const char* path, struct stat* status, int flags);
int fstatat64(int folder, const char* path, struct stat* status, int flags);
int stat(const char* path, struct stat* status) { return __xstat(kStatVersion, path, status); }
int stat64(const char* path, struct stat* status) { return __xstat(kStatVersion, path, status); }
int lstat(const char* path, struct stat* status) { return __lxstat(kStatVersion, path, status); }
int lstat64(const char* path, struct stat* status) { return __lxstat(kStatVersion, path, status); }
int fstat(int descriptor, struct stat* status) {
  return __fxstat(kStatVersion, descriptor, status);
}
int fstat64(int descriptor, struct stat* status) {
  return __fxstat(kStatVersion, descriptor, status);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return __fxstatat(kStatVersion, folder, path, status, flags);
}
int fstatat64(int folder, const char* path, struct stat* status, int flags) {
  return __fxstatat(kStatVersion, folder, path, status, flags);
}

// --- glibc 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// For std::condition_variable of libstdc++, which checks its clock again after the wait: a change
// of the time of day makes one wait wrong by that much, as before 2.30.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  enum { kSecond = 1000000000 };
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec there, day;
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - there.tv_sec;
  day.tv_nsec += until->tv_nsec - there.tv_nsec;
  if (day.tv_nsec < 0) {
    day.tv_nsec += kSecond;
    --day.tv_sec;
  } else if (day.tv_nsec >= kSecond) {
    day.tv_nsec -= kSecond;
    ++day.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &day);
}

// --- glibc 2.32 (and sigabbrev_np, below). The value is never "one thread", so libstdc++ counts
// references atomically.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// --- glibc 2.36, for std::random_device of libstdc++.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
  }
  return number;
}

const char* sigabbrev_np(int number);
const char* sigabbrev_np(int number) {
  static const char* const kNames[] = {
      NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS",
  };
  const int count = (int)(sizeof(kNames) / sizeof(kNames[0]));
  return number > 0 && number < count ? kNames[number] : NULL;
}
