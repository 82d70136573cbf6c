// SPDX-License-Identifier: Apache-2.0
// Reads /etc/ld.so.cache to find the driver. The loader cannot be asked: for libcuda.so.1 it would
// return this shim.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

/// Paths of the libraries called `soname` for this machine in a cache file's bytes, in its order.
/// The result is empty if the bytes are not a cache of glibc's current format
/// ("glibc-ld.so.cache1.1").
std::vector<std::string> find_in_loader_cache(std::string_view bytes, std::string_view soname);

/// find_in_loader_cache() for a file; the result is empty if the file cannot be read.
std::vector<std::string> find_in_loader_cache_file(const char* path, std::string_view soname);

}  // namespace cuvmm::shim
