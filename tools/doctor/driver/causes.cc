// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver/causes.h"

#include <fmt/core.h>

#include <algorithm>

#include "api/driver/driver.h"

namespace cuvmm::doctor {

namespace {

constexpr int kAnyType = 0;
constexpr const char* kAnyCall = "";

struct Cause {
  const char* call;
  int handle_type;
  int code;
  Action action;  ///< where no check shows the cause
  const char* because;
  const char* fix;
  const char* source;
  const char* checks[5];  ///< ids; the first of these checks that does not work is the cause
  /// If all these checks work: a check whose detail holds one of these texts is the cause.
  const char* signs[2] = {};
};

// find_cause() takes the first row that fits, so the rows of one call stand before rows of any
// call.
constexpr Cause kCauses[] = {
    {"cuInit",
     kAnyType,
     CUDA_ERROR_NO_DEVICE,
     Action::kChangeContainer,
     "the driver sees no GPU",
     "give this process a GPU: see device-nodes, and CUDA_VISIBLE_DEVICES",
     "CUDA driver API: cuInit",
     {"kernel-module", "device-nodes"}},
    {"cuInit",
     kAnyType,
     CUDA_ERROR_SYSTEM_NOT_READY,
     Action::kRestartDaemon,
     "the GPUs or their NVSwitches are still being set up; on NVSwitch machines, Fabric Manager "
     "does not run or failed",
     "on the host: `systemctl status nvidia-fabricmanager`, its log, then a restart of it",
     "CUDA driver API: CUresult 802; field: pytorch/pytorch#177472",
     {"nvlink-fabric"}},
    {"cuInit",
     kAnyType,
     803 /* SYSTEM_DRIVER_MISMATCH */,
     Action::kDrain,
     "libcuda.so.1 and the kernel module are of different versions",
     "use the libcuda of the loaded module: reboot after an update, and let the container get the "
     "host's library (no libcuda of its own, no cuda-compat in its path)",
     "CUDA driver API: CUresult 803",
     {}},
    {"cuInit",
     kAnyType,
     804 /* COMPAT_NOT_SUPPORTED_ON_DEVICE */,
     Action::kChangeContainer,
     "a forward-compatibility libcuda (cuda-compat) was loaded, which this GPU does not allow",
     "take cuda-compat out of LD_LIBRARY_PATH, or update the host's driver",
     "CUDA compatibility guide; field: NVIDIA/libnvidia-container#131",
     {}},
    {"cuInit",
     kAnyType,
     CUDA_ERROR_STUB_LIBRARY,
     Action::kChangeContainer,
     "the libcuda that was found is the toolkit's stub for linking",
     "take the toolkit's lib64/stubs folder out of LD_LIBRARY_PATH",
     "CUDA driver API: CUresult 34",
     {}},
    {"cuInit",
     kAnyType,
     CUDA_ERROR_OPERATING_SYSTEM,
     Action::kChangeContainer,
     "a call of the operating system failed: a seccomp filter, a limit or a missing file",
     "raise the limit or open the device that the other lines name; try `docker run "
     "--security-opt seccomp=unconfined`",
     "CUDA driver API: CUresult 304; field: abetlen/llama-cpp-python#645, numba/numba#6131",
     {"device-nodes", "nofile", "address-space"}},
    {"cuInit",
     kAnyType,
     CUDA_ERROR_OUT_OF_MEMORY,
     Action::kChangeContainer,
     "the driver found no address space or no host memory for itself",
     "raise RLIMIT_AS (`ulimit -v unlimited`), or the memory limit of the container",
     "CUDA driver API: cuInit",
     {"address-space"}},
    {"cuInit",
     kAnyType,
     CUDA_ERROR_UNKNOWN,
     Action::kChangeContainer,
     "the driver says no reason; a /dev/nvidia-uvm that is missing or stale is the known one",
     "`nvidia-modprobe -u -c 0` on the host; start the container with /dev/nvidia-uvm",
     "CUDA driver API: CUresult 999",
     {"device-nodes"}},
    {"cuInit",
     kAnyType,
     805 /* MPS_CONNECTION_FAILED */,
     Action::kRestartDaemon,
     "the MPS daemon was not reached",
     "start it, or unset CUDA_MPS_PIPE_DIRECTORY",
     "CUDA driver API: CUresult 805",
     {"mps"}},
    {"cuMemCreate",
     kFabric,
     CUDA_ERROR_NOT_PERMITTED,
     Action::kChangeContainer,
     "this process has no IMEX channel; the device attribute speaks of the device alone",
     "see imex-channels",
     "CUDA driver API: cuMemCreate; field: NVIDIA/nvbandwidth#39, microsoft/mscclpp#467",
     {"imex-channels"}},
    {"cuMemCreate",
     kFabric,
     CUDA_ERROR_NOT_SUPPORTED,
     Action::kNone,
     "this device, or the virtual machine around it, has no fabric memory",
     "a machine with NVSwitch and its fabric set up; inside one machine, use fd",
     "CUDA driver API: cuMemCreate; field: pytorch/pytorch#156074",
     {"nvlink-fabric", "vgpu", "mig", "confidential-computing", "platform"}},
    {"cuMemCreate",
     kFabric,
     CUDA_ERROR_ILLEGAL_STATE,
     Action::kRestartDaemon,
     "the fabric's configuration is wrong or stale",
     "on the host: state and log of nvidia-fabricmanager; restart it with no work on the GPUs",
     "CUDA driver API: CUresult 401; field: pytorch/pytorch#177472, NVIDIA/nvshmem#40",
     {"nvlink-fabric"}},
    {"cuMemImportFromShareableHandle",
     kFabric,
     CUDA_ERROR_INVALID_HANDLE,
     Action::kRestartDaemon,
     "the IMEX daemon is down, or the two processes are in different IMEX domains",
     "on the host: `nvidia-imex-ctl -N`; all nodes must be READY and in one domain",
     "field: kubernetes-sigs/dra-driver-nvidia-gpu#1417, meta-pytorch/torchcomms#3516",
     {"imex-daemon", "imex-channels", "nvlink-fabric"}},
    {"cuMemImportFromShareableHandle",
     kFabric,
     CUDA_ERROR_NOT_PERMITTED,
     Action::kChangeContainer,
     "the importer has not the exporter's IMEX channel",
     "give both processes the same /dev/nvidia-caps-imex-channels/channelN",
     "CUDA driver API: cuMemImportFromShareableHandle",
     {"imex-channels"}},
    {"cuMemImportFromShareableHandle",
     kAnyType,
     CUDA_ERROR_INVALID_DEVICE,
     Action::kChangeContainer,
     "the exporter's GPU is not visible to the importer",
     "make it visible in both processes (CUDA_VISIBLE_DEVICES, the container's devices)",
     "field: NVIDIA/nccl#1647, kubernetes-sigs/dra-driver-nvidia-gpu#294, pytorch/pytorch#174030",
     {"devices"},
     {"that NVML sees", "CUDA_VISIBLE_DEVICES is"}},
    {"cuMulticastBindMem",
     kAnyType,
     CUDA_ERROR_OUT_OF_MEMORY,
     Action::kDrain,
     "the fabric has no multicast group left; other jobs of the rack may have them",
     "look for jobs that hold multicast objects; go on without multicast (NCCL_NVLS_ENABLE=0)",
     "CUDA driver API: cuMulticastBindMem",
     {"nvlink-fabric"}},
    {"cuMemSetAccess",
     kFabric,
     CUDA_ERROR_NOT_SUPPORTED,
     Action::kRestartDaemon,
     "two IMEX domains were seen to do this within one clique",
     "one IMEX domain per clique",
     "field: kubernetes-sigs/dra-driver-nvidia-gpu#892",
     {"nvlink-fabric", "imex-daemon"}},
    {"cuMemSetAccess",
     kFabric,
     CUDA_ERROR_INVALID_VALUE,
     Action::kRestartDaemon,
     "the import is only checked here; IMEX or the fabric is suspected",
     "`nvidia-imex-ctl -N` on all nodes",
     "field: NVIDIA/nvbandwidth#44",
     {"nvlink-fabric", "imex-daemon"}},
    {"cuMemAddressReserve",
     kAnyType,
     CUDA_ERROR_OUT_OF_MEMORY,
     Action::kChangeContainer,
     "address space is short, not memory of the device",
     "see address-space",
     "field: ggml-org/llama.cpp#29142, pytorch/pytorch#192269",
     {"address-space", "platform"}},
    {"cuMemExportToShareableHandle",
     kDescriptor,
     CUDA_ERROR_OPERATING_SYSTEM,
     Action::kChangeContainer,
     "no descriptor could be made: too many are open, or a filter forbids it",
     "see nofile",
     "CUDA driver API: CUresult 304; field: NVIDIA/nccl#2376",
     {"nofile"}},
    {"cuMemCreate",
     kDescriptor,
     CUDA_ERROR_NOT_SUPPORTED,
     Action::kNone,
     "this platform cannot export memory by descriptor",
     "a platform that can: not WSL2, not a vGPU without it",
     "CUDA driver API: cuMemCreate",
     {"platform", "vgpu", "mig", "confidential-computing"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_DEVICE_UNAVAILABLE,
     Action::kDrain,
     "the device is in exclusive or prohibited mode, and another process has it",
     "`nvidia-smi -c DEFAULT` on the host, or MPS",
     "CUDA driver API: CUresult 46",
     {"compute-mode"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_NOT_SUPPORTED,
     Action::kNone,
     "the device or the platform does not have this",
     "another device, driver or virtual machine: ask who runs the machine",
     "CUDA driver API: CUresult 801; field: openxla/xla#49252",
     {"vgpu", "mig", "confidential-computing", "platform"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_OUT_OF_MEMORY,
     Action::kDrain,
     "memory of the device, of the host or address space is short",
     "look at `nvidia-smi` for who has the device's memory",
     "CUDA driver API: CUresult 2",
     {"address-space"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_OPERATING_SYSTEM,
     Action::kChangeContainer,
     "a call of the operating system failed: a seccomp filter, a limit or a missing file",
     "raise the limit or open the device that the other lines name; try `docker run "
     "--security-opt seccomp=unconfined`",
     "CUDA driver API: CUresult 304; field: abetlen/llama-cpp-python#645",
     {"nofile", "device-nodes", "address-space"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_SYSTEM_NOT_READY,
     Action::kRestartDaemon,
     "Fabric Manager or IMEX does not run, or has not finished",
     "on the host: `systemctl status nvidia-fabricmanager nvidia-imex`",
     "CUDA driver API: CUresult 802; field: meta-pytorch/torchcomms#3130",
     {"nvlink-fabric", "imex-daemon"}},
    {kAnyCall,
     kAnyType,
     CUDA_ERROR_ILLEGAL_STATE,
     Action::kRestartDaemon,
     "the fabric's configuration is wrong or stale",
     "on the host: state and log of nvidia-fabricmanager",
     "CUDA driver API: CUresult 401; field: pytorch/pytorch#177472",
     {"nvlink-fabric"}},
};

const Cause* find_cause(std::string_view call, CUresult code, int handle_type) {
  for (const Cause& cause : kCauses) {
    const bool fits = cause.code == static_cast<int>(code) &&
                      (cause.call == call || std::string_view(cause.call).empty()) &&
                      (cause.handle_type == kAnyType || cause.handle_type == handle_type);
    if (fits) return &cause;
  }
  return nullptr;
}

bool shows(const Cause& cause, const Check& check) {
  return std::ranges::any_of(cause.signs, [&](const char* sign) {
    return sign && check.detail.find(sign) != std::string::npos;
  });
}

// The fix of `check`. Where the fix is "see ID", the fix of the check with that id.
std::string root_fix(const Check& check, std::span<const Check> seen) {
  const Check* at = &check;
  for (int steps = 0; steps < 3 && at->fix.starts_with("see "); ++steps) {
    const Check* next = find(seen, at->fix.substr(4));
    if (!next || next->fix.empty()) break;
    at = next;
  }
  return at->fix;
}

}  // namespace

std::string answer_text(std::string_view call, CUresult code) {
  return fmt::format("{} answered {} ({})", call, result_name(code), static_cast<int>(code));
}

std::optional<KnownCause> known_cause(std::string_view call, CUresult code, int handle_type,
                                      std::span<const Check> seen) {
  const Cause* cause = find_cause(call, code, handle_type);
  if (!cause) return std::nullopt;
  for (const char* name : cause->checks) {
    const Check* check = name ? find(seen, name) : nullptr;
    if (check && check->status == Status::kDoesNot) {
      return KnownCause{cause->because, name, root_fix(*check, seen), cause->source, cause->action};
    }
  }
  for (const char* name : cause->checks) {
    const Check* check = name ? find(seen, name) : nullptr;
    if (check && shows(*cause, *check)) {
      return KnownCause{fmt::format("{}: here are {}", cause->because, check->detail), name,
                        cause->fix, cause->source, cause->action};
    }
  }
  return std::nullopt;
}

std::optional<KnownCause> likely_cause(std::string_view call, CUresult code, int handle_type) {
  const Cause* cause = find_cause(call, code, handle_type);
  if (!cause) return std::nullopt;
  return KnownCause{cause->because, "", cause->fix, cause->source, cause->action};
}

Check refused(std::string_view id, std::string_view call, CUresult code, int handle_type,
              std::string_view where, std::span<const Check> seen) {
  std::string detail = answer_text(call, code) + std::string(where);
  if (const auto known = known_cause(call, code, handle_type, seen)) {
    return with_action(
        does_not(std::string(id),
                 fmt::format("{}: {} (see {})", detail, known->because, known->check), known->fix,
                 known->source),
        known->action);
  }
  const Cause* cause = find_cause(call, code, handle_type);
  if (!cause) {
    return does_not(std::string(id), detail + "; no cause of that is known here",
                    "`cuvmm conform` says where this driver differs from the documentation; "
                    "report what you see",
                    fmt::format("CUDA driver API: {}", call));
  }
  std::string fine;
  for (const char* name : cause->checks) {
    const Check* check = name ? find(seen, name) : nullptr;
    if (!check || check->status != Status::kWorks) continue;
    fine += (fine.empty() ? "" : ", ") + std::string(name);
  }
  detail += fmt::format("; known cause: {}", cause->because);
  if (!fine.empty()) {
    detail += fmt::format(". Not seen to be so here: {} {}", fine,
                          fine.find(',') == std::string::npos ? "works" : "work");
  }
  return with_action(does_not(std::string(id), detail, cause->fix, cause->source), cause->action);
}

}  // namespace cuvmm::doctor
