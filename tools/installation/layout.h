// SPDX-License-Identifier: Apache-2.0
// Finds cuvmm's libraries, in a build tree or in an installation.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// The folders that glibc's loader may put in place of $LIB.
inline constexpr const char* kLoaderFolders[] = {"lib", "lib64", "lib/x86_64-linux-gnu",
                                                 "lib/aarch64-linux-gnu"};

/// Absolute paths. A path that is not empty exists.
struct Layout {
  std::string shim;      ///< libcuvmm-shim.so
  std::string links;     ///< folder with libcuda.so and libcuda.so.1, both the shim; "": none
  std::string emulator;  ///< the emulator's libcuda.so.1
  std::vector<std::string> runtimes = {};  ///< libraries to preload with the emulator
  /// Folder with a folder for each of kLoaderFolders, which holds the libraries to preload. Only
  /// glibc's loader knows $LIB. So the loader of another C library (musl) does not find
  /// PRELOAD/$LIB/FILE and starts the program without the shim; it would refuse to start the
  /// program if it found the shim. "": none.
  std::string preload = {};
  std::string other_libc = {};  ///< library for the loaders of other C libraries; "": none
};

struct LayoutResult {
  Layout layout;
  std::string error;  ///< the missing file, and the folders that were searched; empty on success
};

/// Looks in `<bin>/../lib` (build tree) and in the private folder that the install rules chose
/// (`<bin>/../lib/cuvmm` or so), where `bin` is the folder that holds the command.
LayoutResult find_layout(const std::string& bin);

/// The word for LD_PRELOAD that names one of the libraries.
std::string preload_word(const Layout& layout, const std::string& library);

/// A folder of the installation. `from_bin`: its path relative to `bin`, e.g.
/// kInstalledCMakeFolder.
/// "" if it does not exist, as in a build tree.
std::string installed_folder(const std::string& bin, const char* from_bin);

/// The folder that holds the running command, from /proc/self/exe.
std::string own_folder();

}  // namespace cuvmm::tools
