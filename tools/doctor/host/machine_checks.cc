// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/host/machine_checks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "tools/doctor/host/imex.h"

namespace cuvmm::doctor {

namespace {

constexpr const char* kVersionFile = "/proc/driver/nvidia/version";
constexpr const char* kModuleSource = "NVIDIA driver README: the /proc interface";
constexpr const char* kToolkit = "NVIDIA Container Toolkit: the devices of a container";
constexpr const char* kGiveDevices =
    "start the container with the devices: `docker run --gpus all`, `podman run --device "
    "nvidia.com/gpu=all`, or in Kubernetes a limit of nvidia.com/gpu";

Check check_platform(const Host& host) {
  const std::string container = host.container();
  utsname kernel{};
  uname(&kernel);
  if (host.wsl()) {
    return does_not("platform",
                    "this is WSL2: cuMemCreate with a handle type was seen to fail from 4 GiB on, "
                    "where plain memory of that size succeeds",
                    "keep each exportable allocation below 4 GiB, or use Linux without Windows",
                    "field: openxla/xla#48979");
  }
  if (const std::string model = host.tegra(); !model.empty()) {
    return does_not("platform",
                    "this is a Tegra (" + model +
                        "): a reservation of 32 GiB was seen to be refused on one, as if memory "
                        "were short",
                    "reserve less address space at a time; `reserve` says how much there is",
                    "field: ggml-org/llama.cpp#29142");
  }
  return works("platform",
               fmt::format("Linux {} on {}{}", kernel.release, kernel.machine,
                           container.empty()            ? ""
                           : container == "a container" ? ", in a container"
                                                        : ", in a container (" + container + ")"),
               "/proc/version, /etc/nv_tegra_release");
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..." -> "580.159.04".
std::string module_version(const std::string& text) {
  std::string word;
  for (const char c : text.substr(0, text.find('\n')) + ' ') {
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') {
      word += c;
    } else {
      const bool version = word.find('.') != std::string::npos &&
                           std::isdigit(static_cast<unsigned char>(word.front())) && c == ' ';
      if (version) return word;
      word.clear();
    }
  }
  return "";
}

Check check_module(const Host& host) {
  constexpr const char* kId = "kernel-module";
  if (const auto text = host.read(kVersionFile)) {
    const std::string version = module_version(*text);
    return works(kId, version.empty() ? "loaded; its version is not understood" : version,
                 kModuleSource);
  }
  if (host.wsl()) {
    if (host.exists("/dev/dxg")) return works(kId, "the Windows driver, by /dev/dxg", "/dev/dxg");
    return does_not(kId, "this is WSL2, and /dev/dxg is not there",
                    "install a Windows driver with WSL support, then `wsl --update`", "/dev/dxg");
  }
  if (!host.tegra().empty()) {
    return unknown(kId, "a Tegra's GPU may be driven by another module than nvidia", "",
                   kModuleSource);
  }
  return does_not(
      kId, fmt::format("NVIDIA's kernel module is not loaded ({} is not there)", kVersionFile),
      host.container().empty()
          ? "install the driver and `modprobe nvidia`; without a GPU, use --emulate"
          : "the host needs the driver: its administrator installs it or loads it "
            "(`modprobe nvidia`); a container cannot",
      kModuleSource);
}

// /dev/nvidia0, /dev/nvidia1, ...
std::vector<std::string> gpu_nodes(const Host& host) {
  std::vector<std::string> found;
  for (const std::string& name : host.names("/dev")) {
    const std::string number = name.starts_with("nvidia") ? name.substr(6) : "";
    if (!number.empty() && std::all_of(number.begin(), number.end(),
                                       [](unsigned char c) { return std::isdigit(c) != 0; })) {
      found.push_back("/dev/" + name);
    }
  }
  return found;
}

Check cannot_open(const std::string& node, int error) {
  const char* fix = error == EPERM ? "the container's device list (a cgroup) keeps it away: "
                                     "start the container with this device"
                                   : "let this user read and write it: `chmod 0666`, its group, "
                                     "or NVreg_DeviceFileMode of the module";
  return does_not("device-nodes", fmt::format("{}: {}", node, std::strerror(error)),
                  error == EACCES || error == EPERM
                      ? fix
                      : "the node is stale: make it again with `nvidia-modprobe -u -c 0`",
                  "open(2)");
}

Check check_nodes(const Host& host, bool module) {
  constexpr const char* kId = "device-nodes";
  constexpr const char* kControl = "/dev/nvidiactl";
  if (host.wsl()) {
    const int error = host.try_open("/dev/dxg", O_RDWR);
    return error == 0 ? works(kId, "/dev/dxg", "open(2)") : cannot_open("/dev/dxg", error);
  }
  const std::vector<std::string> nodes = gpu_nodes(host);
  const std::size_t gpus = host.names("/proc/driver/nvidia/gpus").size();
  if (!host.exists(kControl) || nodes.empty()) {
    if (!host.tegra().empty()) {
      return unknown(kId, "a Tegra's GPU may have other nodes than /dev/nvidia*", "", "/dev");
    }
    const std::string missing = host.exists(kControl) ? "/dev/nvidia0 and its kin" : kControl;
    return does_not(kId,
                    missing + (module ? " are not here, though the kernel module is loaded"
                                      : " is not here, as the kernel module is not loaded"),
                    !module                    ? "see kernel-module"
                    : host.container().empty() ? "`nvidia-modprobe -u -c 0` makes the nodes"
                                               : kGiveDevices,
                    kToolkit);
  }
  for (const char* node : {kControl, "/dev/nvidia-uvm"}) {
    if (const int error = host.try_open(node, O_RDWR); error != 0) return cannot_open(node, error);
  }
  // access() instead of open(), because opening a node starts a GPU that no other process uses.
  for (const std::string& node : nodes) {
    if (access(host.path(node).c_str(), R_OK | W_OK) != 0) return cannot_open(node, errno);
  }
  return works(kId,
               gpus > nodes.size()
                   ? fmt::format("{} of the {} GPUs have nodes here", nodes.size(), gpus)
                   : fmt::format("{} GPU{}", nodes.size(), nodes.size() == 1 ? "" : "s"),
               kToolkit);
}

Check check_mps(const Host& host) {
  constexpr const char* kId = "mps";
  constexpr const char* kSource = "Multi-Process Service: CUDA_MPS_PIPE_DIRECTORY";
  const auto chosen = variable("CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = chosen && !chosen->empty() ? *chosen : "/tmp/nvidia-mps";
  const std::string control = folder + "/control";
  if (!host.exists(control)) return works(kId, "no MPS daemon: no " + control, kSource);
  // Opening the pipe for writing fails unless a daemon reads it. Nothing is written.
  switch (const int error = host.try_open(control, O_WRONLY | O_NONBLOCK)) {
    case 0:
      return works(kId, "processes here are clients of the MPS daemon at " + folder, kSource);
    case ENXIO:
      return does_not(kId, control + " is there, but no daemon reads it",
                      "start `nvidia-cuda-mps-control -d`, or remove " + folder, kSource);
    default:
      return does_not(kId, fmt::format("{}: {}", control, std::strerror(error)),
                      "run as the daemon's user, or set CUDA_MPS_PIPE_DIRECTORY to a folder "
                      "without one",
                      kSource);
  }
}

}  // namespace

std::vector<Check> check_machine(const Host& host) {
  const Check module = check_module(host);
  const bool loaded = module.status == Status::kWorks;
  return {check_platform(host),      module,
          check_nodes(host, loaded), check_imex_channels(host, loaded),
          check_imex_daemon(host),   check_mps(host)};
}

}  // namespace cuvmm::doctor
