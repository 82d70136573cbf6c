// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/host/host.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace cuvmm::doctor {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string first_line(const std::string& text) {
  // Device tree strings end in a zero byte.
  return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
}

}  // namespace

std::optional<std::string> Host::read(std::string_view absolute) const {
  const int fd = open(path(absolute).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  constexpr std::size_t kMost = 64 << 10;
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (text.size() < kMost) {
    count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(fd);
  return count < 0 ? std::nullopt : std::optional<std::string>(text);
}

bool Host::exists(std::string_view absolute) const {
  return access(path(absolute).c_str(), F_OK) == 0;
}

int Host::try_open(std::string_view absolute, int flags) const {
  const int fd = open(path(absolute).c_str(), flags | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

std::vector<std::string> Host::names(std::string_view absolute) const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path(absolute), error), end;
       !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool Host::wsl() const {
  return lower(read("/proc/version").value_or("")).find("microsoft") != std::string::npos ||
         exists("/dev/dxg");
}

std::string Host::tegra() const {
  std::string model = first_line(read("/proc/device-tree/model").value_or(""));
  const std::string small = lower(model);
  if (small.find("jetson") != std::string::npos || small.find("tegra") != std::string::npos) {
    return model;
  }
  return first_line(read("/etc/nv_tegra_release").value_or(""));
}

std::string Host::container() const {
  if (exists("/.dockerenv")) return "docker";
  if (exists("/run/.containerenv")) return "podman";
  if (exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  const std::string groups = read("/proc/self/cgroup").value_or("");
  for (const char* name : {"kubepods", "docker", "libpod", "lxc"}) {
    if (groups.find(name) != std::string::npos) return name;
  }
  // A container's runtime may write its name into $container. "oci" names no runtime, because all
  // runtimes of the OCI standard may use it.
  const std::string name = first_line(variable("container").value_or(""));
  return name == "oci" ? "a container" : name;
}

std::optional<std::string> variable(const char* name) {
  const char* value = getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string field(std::string_view text, std::string_view key) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ':') {
      const std::string_view value = line.substr(key.size() + 1);
      const std::size_t first = value.find_first_not_of(" \t");
      if (first == std::string_view::npos) return "";
      return std::string(value.substr(first, value.find_last_not_of(" \t") - first + 1));
    }
    start = end + 1;
  }
  return "";
}

}  // namespace cuvmm::doctor
