// SPDX-License-Identifier: Apache-2.0
// The files of this machine, or of a folder that stands for a machine in a test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::doctor {

class Host {
 public:
  /// `root` is put before each path; "" is the machine itself.
  explicit Host(std::string root = "") : root_(std::move(root)) {}

  std::string path(std::string_view absolute) const { return root_ + std::string(absolute); }
  /// At most 64 KiB of a file; nothing if it cannot be read.
  std::optional<std::string> read(std::string_view absolute) const;
  bool exists(std::string_view absolute) const;
  /// Opens the file and closes it. Returns 0 or the errno.
  int try_open(std::string_view absolute, int flags) const;
  /// The names in a folder, sorted; empty if there is no such folder.
  std::vector<std::string> names(std::string_view absolute) const;

  bool wsl() const;               ///< Windows Subsystem for Linux
  std::string tegra() const;      ///< model or release of a Tegra; "" on other machines
  std::string container() const;  ///< "docker", "podman", "kubernetes", "a container"; "" if none

 private:
  std::string root_;
};

/// The value of an environment variable; nothing if it is unset.
std::optional<std::string> variable(const char* name);

/// The value after "Key:" in the form of /proc/self/status, without blanks around it; "" if none.
std::string field(std::string_view text, std::string_view key);

}  // namespace cuvmm::doctor
