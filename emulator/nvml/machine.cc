// SPDX-License-Identifier: Apache-2.0
#include "emulator/nvml/machine.h"

#include <cuda.h>

#include "emulator/base/device_identity.h"
#include "emulator/base/options.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::nvml {

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
  first_device_ = options.host * options.devices;
  hosts_ = options.hosts;
  device_memory_ = options.device_memory ? options.device_memory : profile_.total_memory;
}

const Machine& Machine::get() {
  static const Machine& machine = *new Machine;  // never destroyed: exit handlers may call NVML
  return machine;
}

int Machine::attribute(int number) const {
  const auto known = profile_.attribute(number, device_count_ * hosts_);
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

}  // namespace cuvmm::nvml
