// SPDX-License-Identifier: Apache-2.0
// A hostile driver chooses the least convenient behaviour that it is permitted (CUVMM_HOSTILE,
// docs/testing/fail.md). One seed decides everything, so that the same calls get the same answers
// again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::emulator {

struct HostileDriver {
  std::uint64_t seed = 0;
  bool new_addresses = false;        ///< no address range is given out twice
  bool scattered_addresses = false;  ///< ranges lie far from each other, at other places each time
  bool ignores_hints = false;        ///< of cuMemAddressReserve
  bool new_handles = false;          ///< no handle is given out twice
  bool poison = false;               ///< new memory holds anything
  bool high_descriptors = false;     ///< exported descriptors have large numbers
  bool large_granules = false;       ///< memory of devices has a granularity above 2 MiB
  bool unlike_devices = false;       ///< other memory on each device, and some are no peers
  bool import_addresses = false;     ///< what follows an import lies elsewhere than before
  bool refusals = false;             ///< memory and addresses are refused now and then
  bool left_contexts = false;        ///< after a call that takes memory, another context is current
  static constexpr std::uint64_t kTimesLarger = 4;

  /// The next number of the seed's row.
  std::uint64_t draw();
  /// Whether a call that may be refused for want of memory is refused now: one in eight, and never
  /// two in a row. Draws a number where refusals are wanted.
  bool refuse();
  /// Whether another library leaves its context behind now: one in eight. Draws a number where that
  /// is wanted.
  bool leaves_context();
  /// Whether calls that take memory have anything to fear.
  bool awaits_calls() const { return refusals || left_contexts; }
  /// The process imported memory: from now on its ranges lie in another place, which is drawn.
  /// So what another process shared with it lies at another address than over there.
  void imported();
  /// How far into `room` (> 0) bytes of addresses ranges begin: 0 until something was imported.
  std::uint64_t begin_of_ranges(std::uint64_t room) const;
  /// The memory of a device, of those that all would have.
  std::uint64_t memory_of(int device, std::uint64_t usual) const;
  /// Whether two devices are peers that would be by themselves; the same both ways.
  bool peers(int a, int b) const;

 private:
  std::uint64_t drawn_ = 0;
  bool refused_ = false;
  std::uint64_t place_ = 0;
};

/// "7:poison,hints": a seed, and words of docs/testing/fail.md. Nothing where the text is not that.
std::optional<HostileDriver> parse_hostile_driver(std::string_view text);

/// That of this process; CUVMM_HOSTILE is read at the first use. Its numbers are drawn with the
/// emulator's lock.
HostileDriver& hostile_driver();

/// What is wrong with CUVMM_HOSTILE, as one line; "" where it is understood.
std::string hostile_driver_error();

/// A byte for the address `at` of memory that nobody has written to.
void fill_with_poison(char* bytes, std::uint64_t size, std::uint64_t seed);

}  // namespace cuvmm::emulator
