// SPDX-License-Identifier: Apache-2.0
#include "emulator/nvml/machine.h"

#include <cuda.h>

#include <atomic>
#include <cstdio>

#include "emulator/base/options.h"
#include "emulator/base/say.h"
#include "emulator/machine/device_attributes.h"
#include "emulator/machine/device_identity.h"
#include "emulator/nvml/export.h"

namespace cuvmm::nvml {

namespace {

std::atomic<unsigned> g_starts{0};

Error start() noexcept {
  return anytime([](const Machine& machine) -> Error {
    if (!machine.error().empty()) {
      emulator::complain(machine.error());
      return kDriverNotLoaded;
    }
    ++g_starts;
    return kSuccess;
  });
}

}  // namespace

Machine::Machine() {
  const emulator::Options options = emulator::read_options();
  error_ = options.error;
  if (!error_.empty()) return;
  ProfileResult loaded =
      load_profile(options.profile.empty() ? builtin_profiles().front() : options.profile);
  if (!loaded.error.empty()) {
    error_ = "CUVMM_PROFILE: " + loaded.error;
    return;
  }
  profile_ = std::move(loaded.profile);
  device_count_ = options.devices;
  device_memory_ = options.device_memory ? options.device_memory : profile_.total_memory;
}

const Machine& Machine::get() {
  static const Machine& machine = *new Machine;  // never destroyed: exit handlers may ask
  return machine;
}

int Machine::attribute(int number) const {
  const auto known = profile_.attribute(number, device_count_);
  return known ? *known : emulator::default_attribute(number).value_or(0);
}

bool Machine::reaches(int device, int peer) const {
  const auto& reach = profile_.platform.reach;
  if (device == peer || reach.empty()) return true;
  const auto row = static_cast<std::size_t>(device);
  return row < reach.size() && ((reach[row] >> peer) & 1) != 0;
}

int Machine::index(Handle handle) const {
  for (int device = 0; device < device_count_; ++device) {
    if (handle == &devices_[device]) return device;
  }
  return -1;
}

bool started() { return g_starts.load() > 0; }

std::string uuid_text(int device) {
  unsigned char bytes[emulator::kUuidBytes];
  emulator::write_uuid(device, bytes);
  std::string text = "GPU";
  for (int i = 0; i < emulator::kUuidBytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

CUVMM_NVML_FUNCTION(nvmlInit_v2) { return start(); }
CUVMM_NVML_ALIAS(nvmlInit, nvmlInit_v2);

CUVMM_NVML_FUNCTION(nvmlInitWithFlags, unsigned flags) {
  constexpr unsigned kKnown = 7;  // no GPUs, no attach, force
  return flags & ~kKnown ? kInvalidArgument : start();
}

CUVMM_NVML_FUNCTION(nvmlShutdown) {
  for (unsigned starts = g_starts.load(); starts > 0;) {
    if (g_starts.compare_exchange_weak(starts, starts - 1)) return kSuccess;
  }
  return kUninitialized;
}

}  // namespace cuvmm::nvml
