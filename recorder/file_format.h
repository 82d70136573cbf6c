// SPDX-License-Identifier: Apache-2.0
// The format of the files that a process leaves for other programs: all files begin with one common
// header, and one section follows.
//
// A file has one section, because the sections are in different places and live for different
// times. The section of the last calls (1.2 MiB, all of it allocated at the start) outlives the
// process on a disk, and people carry it to other machines. The section of a process's holdings
// (sparse, up to 112 MiB) ends with the process; it is in a folder in memory that every command of
// the user finds. The timeline (sparse, up to 41 MiB) is in the folder of one run, which reads it
// at its end; in memory it would take space that programs need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvmm::recorder {

inline constexpr std::uint64_t kMagic = 0x4345526d6d767563;  // "cuvmmREC"
/// A version is raised when fields of equal size change their meaning.
inline constexpr std::uint64_t kVersion = 3;
inline constexpr std::size_t kTextBytes = 256;

enum class Section : std::uint64_t { kLastCalls = 1, kHoldings, kTimeline };

/// One moment on the clocks of a machine.
struct Moment {
  std::uint64_t ticks;         ///< of now_ticks()
  std::uint64_t monotonic_ns;  ///< of CLOCK_MONOTONIC
  std::uint64_t boot_ns;       ///< of CLOCK_BOOTTIME
};

/// Every file begins with this header. Texts end with a zero byte, except those that fill their
/// array.
struct FileHeader {
  std::uint64_t magic;  ///< the writer sets it last, so a reader that finds it finds a whole header
  std::uint64_t version;
  std::uint64_t section;  ///< Section
  std::uint64_t layout;   ///< a number that changes with the layout of the section
  std::uint64_t file_bytes;
  std::uint64_t pid;
  std::uint64_t start;  ///< of the process, in the kernel's clock ticks since boot; 0 unknown
  std::uint64_t pid_namespace;  ///< in which the pid means this process; 0 unknown
  std::uint64_t run_pid;        ///< of the `cuvmm run` that started the process; 0: none
  std::uint64_t run_start;
  Moment first, last;           ///< two moments, from which readers compute the length of a tick
  std::uint64_t first_unix_ns;  ///< CLOCK_REALTIME at the first moment
  std::uint64_t spare[7];
  char program[kTextBytes];
  char driver[kTextBytes];
  /// CUDA_VISIBLE_DEVICES when the file was made; "-" where it was not set.
  char visible[kTextBytes];
};
static_assert(sizeof(FileHeader) % 64 == 0);

/// The section that a reader accepts, and how large its file is.
struct Shape {
  Section section;
  std::uint64_t layout;
  std::size_t bytes;  ///< of the file
};

}  // namespace cuvmm::recorder
