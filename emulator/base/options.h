// SPDX-License-Identifier: Apache-2.0
// The options that the environment gives the emulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kernel_report.h"
#include "emulator/base/outage.h"
#include "rulebook/base/limits.h"

namespace cuvmm::emulator {

/// When streams do their work: at once, or late, as a seed decides (emulator/objects/queues.h).
struct StreamsOption {
  bool late = false;
  std::uint64_t seed = 0;  ///< 0: each piece of work runs as late as it can
};

/// CUVMM_PROFILE, CUVMM_DEVICES, CUVMM_HOST, CUVMM_OUTAGE, CUVMM_DEVICE_MEMORY,
/// CUVMM_MULTICAST_TIMEOUT_MS, CUVMM_STREAMS, CUVMM_FAULTS, CUVMM_KERNELS and CUVMM_KERNEL_STEPS,
/// read once, by cuInit.
struct Options {
  std::string profile;              ///< name or TOML path; empty: the newest recorded real driver
  int devices = 8;                  ///< of the host, 0 to kMaxDevices; 0: it has no GPU
  int hosts = 1;                    ///< of the machine: more than one for a rack
  int host = 0;                     ///< of this process, 0 to hosts - 1
  std::uint64_t device_memory = 0;  ///< bytes per device; 0: the profile's value
  /// How long a bind waits for devices that other processes add.
  unsigned multicast_timeout_ms = 3000;
  StreamsOption streams;
  Outage outage = Outage::kNone;
  bool context_faults = false;  ///< a fault ends with its context, whatever the driver does
  bool run_kernels = true;      ///< runs kernels that have PTX; false: skips all kernels
  KernelChecks kernel_checks;
  /// Instructions of all threads of a launch; the emulator ends a launch that executes more,
  /// because it takes the launch for endless.
  std::uint64_t kernel_steps = 1'000'000'000'000;
  /// One line that says which value was expected; empty when all values are valid.
  std::string error;
};

/// Reads the environment; a bad value leaves `error` set and must fail cuInit.
Options read_options();

/// The devices that CUDA_VISIBLE_DEVICES=`text` leaves of a host that has `count` devices, in the
/// text's order, by the machine's numbers, which begin with `first`; all devices where `text` is
/// null. An entry that names no device ends the list, and an entry that comes twice makes the list
/// empty.
std::vector<int> visible_devices(const char* text, int count, int first = 0);

/// "80G", "512M", "4096": bytes with an optional K, M, G or T (powers of 1024). Nothing when the
/// text has another form or the number does not fit in 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "eager", "late", "late:7"; nothing when the text has another form.
std::optional<StreamsOption> parse_streams(std::string_view text);

}  // namespace cuvmm::emulator
