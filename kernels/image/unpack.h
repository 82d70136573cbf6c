// SPDX-License-Identifier: Apache-2.0
// Unpacks the packed entries of nvcc's fat binaries, which are blocks of LZ4 or frames of
// Zstandard, by liblz4 and libzstd. The bytes are not trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cuvmm::kernels {

/// Nothing, unless `packed` is complete and unpacks to exactly `size` bytes; nothing in a build
/// without static archives of the two libraries (cmake/Dependencies.cmake).
std::optional<std::string> unpack_lz4(std::string_view packed, std::size_t size);
std::optional<std::string> unpack_zstd(std::string_view packed, std::size_t size);

}  // namespace cuvmm::kernels
