// SPDX-License-Identifier: Apache-2.0
// Finds other copies of libcuda in the process, to which calls go past the shim, and libraries that
// stand between the program and the driver: before the shim, or behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// Paths in a /proc/PID/maps text whose file is called libcuda.so* and is mapped as executable,
/// without those of `known` files. A known file whose code is mapped more than once was loaded
/// again in another namespace, and is named too.
std::vector<std::string> escaped_libraries_in(std::string_view maps,
                                              const std::vector<std::string>& known);

/// escaped_libraries_in() for this process; `driver` is the path of the driver that the shim
/// opened, or "".
std::vector<std::string> escaped_libraries(const std::string& driver);

/// One sentence for each library that has functions with names of the driver's: those that the
/// program calls in place of the shim's, and those that it would call if the shim did not come
/// first. Without libcudas, and without the program itself. Takes the loader's locks. Throws
/// std::bad_alloc.
std::vector<std::string> interposed_libraries();
/// The library that interposed_libraries() found before the shim and that has a function with this
/// symbol's name; "" if none has. Asks nothing of the loader.
std::string library_before(std::string_view symbol);

}  // namespace cuvmm::shim
