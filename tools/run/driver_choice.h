// SPDX-License-Identifier: Apache-2.0
// Which libcuda a program is going to meet.
#pragma once

#include <string>

namespace cuvmm::tools {

/// The libcuda.so.1 that the loader finds, as a path; "" when there is none. Asked in a child
/// process, because a driver cannot be unloaded again and may start threads.
std::string find_driver();

/// "" when `path` is a library that can be opened and exports cuInit; else why not. Also in a
/// child.
std::string cannot_use_driver(const std::string& path);

}  // namespace cuvmm::tools
