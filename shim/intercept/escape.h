// SPDX-License-Identifier: Apache-2.0
// Finds other copies of libcuda in the process, calls to which went past the shim, and libraries
// that the shim comes before: those of the program's that stand between it and the driver.
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

/// A library whose functions of the driver's names the program would call, if the shim did not come
/// before it: preloaded behind it (/etc/ld.so.preload), or linked.
struct Bypassed {
  std::string library;
  std::vector<std::string> functions;
};

/// All of them, but for libcudas. Takes the loader's locks. Throws std::bad_alloc.
std::vector<Bypassed> bypassed_libraries();

/// One sentence: which library, and which of its functions are not called.
std::string sentence(const Bypassed& bypassed);

}  // namespace cuvmm::shim
