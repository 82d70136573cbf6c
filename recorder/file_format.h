// SPDX-License-Identifier: Apache-2.0
// The format of the files that a process leaves for others: one header for all of them, and behind
// it one section.
//
// A file has one section, because the sections live in different places and for different times.
// The last calls (1.2 MiB, all of it taken at once) outlive the process on a disk, and people carry
// them to other machines. What a process holds (sparse, up to 112 MiB) goes with the process, and
// lies in a folder in memory that every command of the user finds. The timeline (sparse, up to 41
// MiB) lies in the folder of one run, which reads it at its end; in memory it would take the room
// that programs need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::recorder {

inline constexpr std::uint64_t kMagic = 0x4345526d6d767563;  // "cuvmmREC"
/// Higher where the same sizes mean something else.
inline constexpr std::uint64_t kVersion = 1;
inline constexpr std::size_t kTextBytes = 256;

enum class Section : std::uint64_t { kLastCalls = 1, kHoldings, kTimeline };

/// One moment on the clocks of a machine.
struct Moment {
  std::uint64_t ticks;         ///< of now_ticks()
  std::uint64_t monotonic_ns;  ///< of CLOCK_MONOTONIC
  std::uint64_t boot_ns;       ///< of CLOCK_BOOTTIME
};

/// All files begin so. Texts end with a zero byte, but for those that fill their place.
struct FileHeader {
  std::uint64_t magic;  ///< written last: whoever sees it sees a whole header
  std::uint64_t version;
  std::uint64_t section;  ///< Section
  std::uint64_t layout;   ///< changes with what the section looks like
  std::uint64_t file_bytes;
  std::uint64_t pid;
  std::uint64_t start;  ///< of the process, in the kernel's clock ticks since boot; 0 unknown
  std::uint64_t pid_namespace;  ///< in which the pid means this process; 0 unknown
  std::uint64_t run_pid;        ///< of the `cuvmm run` that the process belongs to; 0: none
  std::uint64_t run_start;
  Moment first, last;           ///< two moments; what lies between says how ticks run
  std::uint64_t first_unix_ns;  ///< CLOCK_REALTIME at the first moment
  std::uint64_t spare[7];
  char program[kTextBytes];
  char driver[kTextBytes];
  /// CUDA_VISIBLE_DEVICES as it was when the file was made; "-" where it was not set.
  char visible[kTextBytes];
};
static_assert(sizeof(FileHeader) % 64 == 0);

/// What a section is made of: who reads takes only its own.
struct Shape {
  Section section;
  std::uint64_t layout;
  std::size_t bytes;  ///< of the file
};

}  // namespace cuvmm::recorder
