// SPDX-License-Identifier: Apache-2.0
// The choice of the libcuda that a program uses.
#pragma once

#include <string>

namespace cuvmm::tools {

/// The path of the library with this name that the loader finds; "" if it finds none, or one that
/// is no libcuda. A child process loads the library, because a driver cannot be unloaded again and
/// may start threads.
std::string find_driver(const std::string& name = "libcuda.so.1");

/// "" if `path` is a library that can be opened and exports cuInit; else the reason why not. A
/// child process opens the library.
std::string cannot_use_driver(const std::string& path);

}  // namespace cuvmm::tools
