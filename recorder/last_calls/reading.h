// SPDX-License-Identifier: Apache-2.0
// Reads an image for people and programs: from a file, which may be damaged, or from the image of
// the running process while its threads write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/posix/process_start.h"
#include "recorder/last_calls/format.h"

namespace cuvmm::last_calls {

struct CallSeen {
  enum class End {
    kPending,   ///< it had not returned yet
    kReturned,  ///< it returned `result`
    kUnwound,   ///< its thread was cancelled during the call
    kUnknown
  };
  std::uint64_t sequence = 0;
  std::uint64_t ns = 0;  ///< nanoseconds from its begin to the last known moment
  std::uint32_t thread = 0;
  std::size_t entry = 0;  ///< index into Reading::entries
  std::array<std::uint64_t, kWords> words{};
  End end = End::kUnknown;
  std::uint32_t result = 0;
};

struct EndSeen {
  std::uint64_t sequence = 0;
  std::uint64_t ns = 0;  ///< as in CallSeen
  std::uint32_t thread = 0;
  ObjectKind kind = ObjectKind::kUnknown;
  int device = -1;
  std::uint64_t base = 0, size = 0;
  std::uint64_t made = 0, ended = 0;  ///< numbers of calls, as findings print them; 0 unknown
  std::uint64_t call = 0;             ///< sequence of the call that ended the object; 0 unknown
  std::vector<std::uint64_t> frames;
};

struct ThreadSeen {
  std::uint32_t thread = 0;
  /// Sequence of the last cuMemCreate after which the thread mapped or released memory; 0: none.
  std::uint64_t gone_on = 0;
};

struct LiveSeen {
  ObjectKind kind = ObjectKind::kUnknown;
  int device = -1;
  std::uint64_t base = 0, size = 0, made = 0;
};

struct EntrySeen {
  std::string name;
  std::vector<std::string> words;
  std::vector<WordKind> kinds;
};

struct Reading {
  std::int64_t pid = 0;
  RunId run;  ///< the `cuvmm run` that started the process
  std::string program, driver;
  State state = State::kRunning;
  int signal = 0;
  std::uint64_t total_calls = 0, total_ends = 0;
  std::uint64_t last_ns = 0;       ///< last known moment, on CLOCK_MONOTONIC
  std::uint64_t lasted_ns = 0;     ///< from the first moment to the last known one
  std::uint64_t realtime_ns = 0;   ///< first moment, in nanoseconds since 1970
  std::uint32_t fault_result = 0;  ///< 0: no call reported a fault
  std::uint64_t fault_call = 0, fault_ns = 0;
  std::optional<std::uint64_t> address;  ///< address of the fault
  std::vector<EntrySeen> entries;
  std::vector<CallSeen> calls;    ///< oldest first
  std::vector<CallSeen> pending;  ///< calls that had not returned, however old
  std::vector<ThreadSeen> threads;
  std::vector<EndSeen> ends;   ///< oldest first
  std::vector<LiveSeen> live;  ///< objects at the fault, by address
  std::uint64_t live_total = 0;
  std::string maps;
  std::size_t torn = 0;  ///< records that were incomplete when the process ended

  const EntrySeen* entry(const CallSeen& call) const {
    return call.entry < entries.size() ? &entries[call.entry] : nullptr;
  }
  const CallSeen* call(std::uint64_t sequence) const;
};

/// One moment, on two clocks of a machine.
struct ClockPair {
  std::uint64_t ticks = 0;  ///< as in records
  std::uint64_t ns = 0;     ///< of CLOCK_MONOTONIC
};
ClockPair this_clock_pair() noexcept;

/// Reads an image. Returns an error in words, or "". Damaged records are no error: they are left
/// out and counted.
/// `now` is a moment of the machine on which the process ran, if the machine has not been restarted
/// since; null for another machine. Without `now`, the ticks of a process that was killed have no
/// known length.
std::string read_image(std::span<const std::byte> bytes, Reading& reading,
                       const ClockPair* now = nullptr);

/// read_image() for a file. A file that is not a regular file is an error.
std::string read_file(const std::string& path, Reading& reading, const ClockPair* now = nullptr);

/// Whether a CUresult reports that work on a device failed at an address.
bool is_fault(std::uint32_t result) noexcept;

}  // namespace cuvmm::last_calls
