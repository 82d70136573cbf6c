// SPDX-License-Identifier: Apache-2.0
// Finds other copies of libcuda in the process: calls to them went past the shim.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// Paths in a /proc/PID/maps text whose file is called libcuda.so* and mapped to be run, without
/// those of `known` files. A known file whose code is mapped more than once was loaded again in
/// another namespace, and is named too.
std::vector<std::string> escaped_libraries_in(std::string_view maps,
                                              const std::vector<std::string>& known);

/// The same for this process; `driver` is the path of the driver that the shim opened, or "".
std::vector<std::string> escaped_libraries(const std::string& driver);

}  // namespace cuvmm::shim
