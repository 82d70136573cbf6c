// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/host/imex.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

namespace cuvmm::doctor {

namespace {

constexpr const char* kFolder = "/dev/nvidia-caps-imex-channels";
constexpr const char* kDevice = "nvidia-caps-imex-channels";
constexpr const char* kGuide = "IMEX guide: IMEX Channels; field: NVIDIA/nvbandwidth#39";

// The major number that the module registered, from a line "234 nvidia-caps-imex-channels".
std::optional<unsigned> major_number(const Host& host) {
  std::istringstream lines(host.read("/proc/devices").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    unsigned number = 0;
    std::string name;
    if (words >> number >> name && name == kDevice) return number;
  }
  return std::nullopt;
}

std::string how_to_make(const Host& host, unsigned number) {
  const std::string make = fmt::format(
      "`mkdir -p {} && mknod {}/channel0 c {} 0`, or load the module with "
      "NVreg_CreateImexChannel0=1",
      kFolder, kFolder, number);
  if (host.container().empty()) return "as root: " + make;
  return fmt::format(
      "give the container a channel: `--device {}/channel0`, NVIDIA_IMEX_CHANNELS=0, or in "
      "Kubernetes a ComputeDomain; where the host has none, its root runs {}",
      kFolder, make);
}

// "" if the channel opens; else the reason why not.
std::string trouble(const Host& host, const std::string& file, unsigned number) {
  struct stat status {};
  if (stat(host.path(file).c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISCHR(status.st_mode)) return "is no character device";
  if (major(status.st_rdev) != number) {
    return fmt::format("has major number {}, but the loaded module has {}", major(status.st_rdev),
                       number);
  }
  const int error = host.try_open(file, O_RDWR | O_NONBLOCK);
  if (error == EPERM) return "Operation not permitted: the container's device list has it not";
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace

Check check_imex_channels(const Host& host, bool module_loaded) {
  constexpr const char* kId = "imex-channels";
  const auto number = major_number(host);
  if (!number) {
    return does_not(
        kId,
        module_loaded
            ? fmt::format("the loaded module knows no IMEX channels (/proc/devices has no {})",
                          kDevice)
            : "the kernel module, which makes them, is not loaded",
        module_loaded ? "a driver that has them (550 and newer do)" : "see kernel-module", kGuide);
  }
  std::vector<std::string> good, bad;
  for (const std::string& name : host.names(kFolder)) {
    if (!name.starts_with("channel")) continue;
    const std::string file = fmt::format("{}/{}", kFolder, name);
    const std::string why = trouble(host, file, *number);
    (why.empty() ? good : bad).push_back(why.empty() ? name : file + " " + why);
  }
  if (!good.empty()) {
    return works(
        kId, good.size() == 1 ? good[0] : fmt::format("{} and {} more", good[0], good.size() - 1),
        kGuide);
  }
  if (bad.empty()) {
    return does_not(kId, fmt::format("there is no channel: {} is empty or missing", kFolder),
                    how_to_make(host, *number), kGuide);
  }
  const bool denied = bad[0].find(std::strerror(EACCES)) != std::string::npos;
  return does_not(kId, bad[0],
                  denied ? "let this user read and write it: `chmod 0666`, or its group"
                         : how_to_make(host, *number),
                  kGuide);
}

Check check_imex_daemon(const Host& host) {
  constexpr const char* kId = "imex-daemon";
  constexpr const char* kSource =
      "IMEX guide: Overview; field: kubernetes-sigs/dra-driver-nvidia-gpu#1417";
  for (const std::string& name : host.names("/proc")) {
    if (!std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; })) {
      continue;
    }
    const std::string command = host.read("/proc/" + name + "/comm").value_or("");
    if (command == "nvidia-imex\n") {
      return works(kId, "nvidia-imex runs as process " + name, kSource);
    }
  }
  return unknown(kId,
                 std::string("no process nvidia-imex is seen") +
                     (host.container().empty() ? "" : "; it may run outside of this container") +
                     ". Only fabric handles between machines need it",
                 std::string("ask `nvidia-imex-ctl -N`") +
                     (host.container().empty() ? "" : " on the host") +
                     ": all nodes of the domain must be READY",
                 kSource);
}

}  // namespace cuvmm::doctor
