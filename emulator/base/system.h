// SPDX-License-Identifier: Apache-2.0
// System calls that the emulator can make inside a foreign process: none is a point at which
// pthread_cancel ends the thread (the thread may hold a lock, and noexcept code cannot be unwound),
// and none raises a signal that would end the program.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cuvmm::emulator {

/// Each does what the system's function without the prefix `sys_` does.
int sys_open(const char* path, int flags);
void sys_close(int fd);
ssize_t sys_read(int fd, void* out, std::size_t size);
ssize_t sys_pread(int fd, void* out, std::size_t size, std::uint64_t offset);
bool sys_random(void* out, std::size_t size);

/// Waits while the lower half of `number` equals that of `seen`, until a process that has the
/// memory of `number` mapped calls sys_wake_all(), and `time` at most. It may return early for no
/// reason. A process that changes the upper half alone, or dies before it wakes, is missed; the
/// caller looks again now and then.
void sys_wait_while(const std::atomic<std::uint64_t>& number, std::uint64_t seen,
                    std::chrono::nanoseconds time);
void sys_wake_all(const std::atomic<std::uint64_t>& number);

/// Do what pwrite and ftruncate do, but fail where RLIMIT_FSIZE would raise SIGXFSZ.
ssize_t sys_pwrite(int fd, const void* bytes, std::size_t size, std::uint64_t offset);
bool sys_resize(int fd, std::uint64_t size);

}  // namespace cuvmm::emulator
