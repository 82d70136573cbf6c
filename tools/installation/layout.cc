// SPDX-License-Identifier: Apache-2.0
#include "tools/installation/layout.h"

#include <filesystem>
#include <system_error>

#include "tools/installation/install_paths.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

std::string own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string installed_folder(const std::string& bin, const char* from_bin) {
  std::error_code error;
  const fs::path folder = (fs::path(bin) / from_bin).lexically_normal();
  return fs::is_directory(folder, error) ? folder.string() : "";
}

LayoutResult find_layout(const std::string& bin) {
  std::string tried;
  for (const char* relative : {"../lib", kInstalledPrivateFolder}) {
    const fs::path root = (fs::path(bin) / relative).lexically_normal();
    const fs::path shim = root / "libcuvmm-shim.so";
    std::error_code error;
    // The links may be missing, because a Python wheel cannot have symbolic links.
    const bool linked = fs::exists(root / "links", error);
    const fs::path links = linked ? root / "links" : "";
    const fs::path emulator = root / "emulator" / "libcuda.so.1";
    if (!fs::exists(shim, error)) {
      tried += (tried.empty() ? "" : ", ") + shim.string();
      continue;
    }
    for (const fs::path& part : {links / "libcuda.so", links / "libcuda.so.1", emulator}) {
      if (!fs::exists(part, error) && (linked || part == emulator)) {
        return {{},
                "found " + shim.string() + " but not " + part.string() +
                    ": build all targets, or install cuvmm again"};
      }
    }
    Layout layout{shim.string(), links.string(), emulator.string()};
    for (const char* name :
         {"libcudart.so.13", "libcudart.so.12", "libcuvmm-blas.so", "libcuvmm-static-cudart.so"}) {
      const fs::path runtime = emulator.parent_path() / name;
      if (fs::exists(runtime, error)) layout.runtimes.push_back(runtime.string());
    }
    const fs::path other_libc = root / "libcuvmm-other-libc.so";
    if (fs::exists(other_libc, error)) layout.other_libc = other_libc.string();
    if (fs::exists(root / "preload", error)) layout.preload = (root / "preload").string();
    return {layout, ""};
  }
  return {{}, "libcuvmm-shim.so was not found; looked for " + tried};
}

std::string preload_word(const Layout& layout, const std::string& library) {
  if (layout.preload.empty()) return library;
  return layout.preload + "/$LIB/" + fs::path(library).filename().string();
}

}  // namespace cuvmm::tools
