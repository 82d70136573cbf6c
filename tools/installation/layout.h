// SPDX-License-Identifier: Apache-2.0
// Where cuvmm's libraries lie: next to the command, in a build tree or installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// What glibc's loader may put for $LIB: its own folder of libraries, without the root.
inline constexpr const char* kLoaderFolders[] = {"lib", "lib64", "lib/x86_64-linux-gnu",
                                                 "lib/aarch64-linux-gnu"};

/// Absolute paths; each that is not empty names something that exists.
struct Layout {
  std::string shim;      ///< libcuvmm-shim.so
  std::string links;     ///< folder with libcuda.so and libcuda.so.1, both the shim; "": none
  std::string emulator;  ///< the emulator's libcuda.so.1
  std::vector<std::string> runtimes = {};  ///< what to preload with the emulator
  /// Folder with a folder for each of kLoaderFolders, which holds what is preloaded. Only glibc's
  /// loader knows $LIB, so the loader of another C library (musl) does not find PRELOAD/$LIB/FILE
  /// and starts the program without it, where it would refuse to start it with the shim. "": none.
  std::string preload = {};
  std::string other_libc = {};  ///< what the loaders of other C libraries preload; "": nothing
};

struct LayoutResult {
  Layout layout;
  std::string error;  ///< what is missing and where it was looked for; empty on success
};

/// Looks in `<bin>/../lib` (build tree) and in the private folder that the install rules chose
/// (`<bin>/../lib/cuvmm` or so), where `bin` is the folder that holds the command.
LayoutResult find_layout(const std::string& bin);

/// The word for LD_PRELOAD that names one of the libraries.
std::string preload_word(const Layout& layout, const std::string& library);

/// A folder of the installation, e.g. kInstalledCMakeFolder, seen from `bin`; "" where it is not
/// there, as in a build tree.
std::string installed_folder(const std::string& bin, const char* from_bin);

/// The folder that holds the running command, from /proc/self/exe.
std::string own_folder();

}  // namespace cuvmm::tools
