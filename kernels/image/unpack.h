// SPDX-License-Identifier: Apache-2.0
// Unpacks what nvcc puts into fat binaries, blocks of LZ4 and frames of Zstandard, by liblz4 and
// libzstd. The bytes are not trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::kernels {

/// Nothing, unless `packed` is whole and yields exactly `size` bytes; nor in a build that found no
/// static archives of the two libraries (cmake/Dependencies.cmake).
std::optional<std::string> unpack_lz4(std::string_view packed, std::size_t size);
std::optional<std::string> unpack_zstd(std::string_view packed, std::size_t size);

}  // namespace cuvmm::kernels
