// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/check.h"

#include <algorithm>
#include <utility>

namespace cuvmm::doctor {

namespace {

constexpr CheckInfo kTable[] = {
    {"platform", "machine", "Linux without the limits of WSL2 and Tegra"},
    {"kernel-module", "machine", "NVIDIA's kernel module is loaded", Severity::kNone,
     Action::kDrain},
    {"device-nodes", "machine", "this user may open /dev/nvidia*", Severity::kNone,
     Action::kChangeContainer},
    {"imex-channels", "machine", "this user may open an IMEX channel", Severity::kNone,
     Action::kChangeContainer},
    {"imex-daemon", "machine", "the IMEX daemon runs", Severity::kNone, Action::kRestartDaemon},
    {"mps", "machine", "no MPS daemon, or one that answers", Severity::kWarning,
     Action::kRestartDaemon},
    {"pidfd", "machine", "a process takes descriptors of its siblings (pidfd_getfd)",
     Severity::kWarning, Action::kChangeContainer},
    {"nofile", "machine", "at least 1024 open files (RLIMIT_NOFILE)", Severity::kWarning,
     Action::kChangeContainer},
    {"address-space", "machine", "address space for the devices' memory (RLIMIT_AS)",
     Severity::kWarning, Action::kChangeContainer},
    {"shm", "machine", "/dev/shm is there, and larger than a container's default",
     Severity::kWarning, Action::kChangeContainer},
    {"driver", "driver", "libcuda.so.1 loads and starts", Severity::kCritical, Action::kDrain},
    {"devices", "driver", "there is a device", Severity::kCritical, Action::kChangeContainer},
    {"compute-mode", "driver", "several processes may use a device", Severity::kWarning,
     Action::kDrain},
    {"granularity", "driver", "the granularities are known", Severity::kWarning, Action::kReset},
    {"reserve", "driver", "cuMemAddressReserve has room for the devices' memory",
     Severity::kWarning, Action::kChangeContainer},
    {"vmm", "driver", "create, map and access memory on each device", Severity::kCritical,
     Action::kReset},
    {"peer", "driver", "each device gets access to each other's memory", Severity::kWarning,
     Action::kDrain},
    {"multicast", "driver", "multicast objects (never tried)"},
    {"fd", "sharing", "share memory by file descriptor", Severity::kCritical,
     Action::kChangeContainer},
    {"fabric", "sharing", "share memory by fabric handle", Severity::kNone, Action::kRestartDaemon},
    {"dma-buf", "sharing", "export memory as a dma-buf"},
    {"nvml", "NVML", "libnvidia-ml.so.1 loads and starts", Severity::kWarning,
     Action::kChangeContainer},
    {"nvlink-fabric", "NVML", "the NVLink fabric is set up and healthy", Severity::kWarning,
     Action::kRestartDaemon},
    {"mig", "NVML", "no device is cut into MIG instances"},
    {"vgpu", "NVML", "no device is a vGPU"},
    {"confidential-computing", "NVML", "confidential computing is off"},
};

}  // namespace

std::string_view status_text(Status status) {
  switch (status) {
    case Status::kWorks:
      return "works";
    case Status::kDoesNot:
      return "does not";
    case Status::kUnknown:
      break;
  }
  return "unknown";
}

Check works(std::string id, std::string detail, std::string source) {
  return {std::move(id), Status::kWorks, std::move(detail), "", std::move(source), {}};
}

Check does_not(std::string id, std::string detail, std::string fix, std::string source) {
  return {std::move(id), Status::kDoesNot, std::move(detail), std::move(fix), std::move(source)};
}

Check unknown(std::string id, std::string detail, std::string fix, std::string source) {
  return {std::move(id), Status::kUnknown, std::move(detail), std::move(fix), std::move(source)};
}

Check absent(std::string id, std::string detail, std::string fix, std::string source) {
  Check check = does_not(std::move(id), std::move(detail), std::move(fix), std::move(source));
  check.absent = true;
  return check;
}

Check with_action(Check check, Action action) {
  check.action = action;
  return check;
}

std::span<const CheckInfo> check_table() { return kTable; }

const Check* find(std::span<const Check> checks, std::string_view id) {
  const auto found =
      std::find_if(checks.begin(), checks.end(), [&](const Check& c) { return c.id == id; });
  return found == checks.end() ? nullptr : &*found;
}

void put_in_order(std::vector<Check>& checks) {
  const auto place = [](const Check& check) {
    return std::find_if(std::begin(kTable), std::end(kTable),
                        [&](const CheckInfo& info) { return check.id == info.id; });
  };
  std::stable_sort(checks.begin(), checks.end(),
                   [&](const Check& a, const Check& b) { return place(a) < place(b); });
}

std::vector<const Check*> unmet(std::span<const Check> checks,
                                std::span<const std::string> needed) {
  std::vector<const Check*> missing;
  for (const Check& check : checks) {
    const bool asked = std::find(needed.begin(), needed.end(), check.id) != needed.end();
    if (asked && check.status != Status::kWorks) missing.push_back(&check);
  }
  return missing;
}

}  // namespace cuvmm::doctor
