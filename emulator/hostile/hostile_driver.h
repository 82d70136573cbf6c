// SPDX-License-Identifier: Apache-2.0
// A hostile driver chooses the least convenient behaviour that the documentation permits
// (CUVMM_HOSTILE, docs/testing/fail.md). The seed decides everything, so that equal calls get equal
// answers in each run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::emulator {

struct HostileDriver {
  std::uint64_t seed = 0;
  bool new_addresses = false;  ///< no address range is given out twice
  /// Ranges lie far from each other, each at a drawn place.
  bool scattered_addresses = false;
  bool ignores_hints = false;     ///< the hints of cuMemAddressReserve
  bool new_handles = false;       ///< no handle is given out twice
  bool poison = false;            ///< new memory is filled with values that are not zero
  bool high_descriptors = false;  ///< exported descriptors have large numbers
  bool large_granules = false;    ///< memory of devices has a granularity above 2 MiB
  /// Devices have different amounts of memory, and some pairs are not peers.
  bool unlike_devices = false;
  bool import_addresses = false;  ///< ranges reserved after an import lie elsewhere than before
  bool refusals = false;          ///< allocations and reservations fail now and then
  bool left_contexts = false;     ///< after a call that takes memory, another context is current
  static constexpr std::uint64_t kTimesLarger = 4;

  /// The next number of the seed's sequence.
  std::uint64_t draw();
  /// Whether a call that may run out of memory fails now: one call in eight, and never two in a
  /// row. Draws a number only where refusals are enabled.
  bool refuse();
  /// Whether another library leaves its context current now: in one call of eight. Draws a number
  /// only where that is enabled.
  bool leaves_context();
  /// Whether the driver acts at calls that take memory.
  bool awaits_calls() const { return refusals || left_contexts; }
  /// The process imported memory: from now on its ranges lie at a drawn place. So memory that
  /// another process shared has another address here than there.
  void imported();
  /// How far from the start of `room` (> 0) bytes of address space ranges begin, in bytes: 0 until
  /// the first import.
  std::uint64_t begin_of_ranges(std::uint64_t room) const;
  /// The memory of a device in bytes; `usual` is the size without a hostile driver.
  std::uint64_t memory_of(int device, std::uint64_t usual) const;
  /// Whether two devices that could be peers are peers; independent of their order.
  bool peers(int a, int b) const;

 private:
  std::uint64_t drawn_ = 0;
  bool refused_ = false;
  std::uint64_t place_ = 0;
};

/// "7:poison,hints": a seed, and words of docs/testing/fail.md. Nothing where the text has another
/// form.
std::optional<HostileDriver> parse_hostile_driver(std::string_view text);

/// The hostile driver of this process; CUVMM_HOSTILE is read at the first call. Callers that draw
/// numbers hold the emulator's lock.
HostileDriver& hostile_driver();

/// The error in CUVMM_HOSTILE, as one line; "" where it is valid.
std::string hostile_driver_error();

/// Fills memory that nobody has written to with values that depend on the seed.
void fill_with_poison(char* bytes, std::uint64_t size, std::uint64_t seed);

}  // namespace cuvmm::emulator
