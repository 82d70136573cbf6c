// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/unpack.h"

#if CUVMM_UNPACKS
#include <lz4.h>
#include <zstd.h>

#include <limits>
#include <memory>

// libzstd calls these functions where a program defines them. They are defined here, so that it
// does not call the program's.
extern "C" unsigned long long ZSTD_trace_decompress_begin(const void* context);
extern "C" void ZSTD_trace_decompress_end(unsigned long long trace, const void* context);
unsigned long long ZSTD_trace_decompress_begin(const void*) { return 0; }
void ZSTD_trace_decompress_end(unsigned long long, const void*) {}
#endif

namespace cuvmm::kernels {

#if CUVMM_UNPACKS

namespace {

// Not a std::string, because it would write to every byte of a size that the image may only claim.
std::unique_ptr<char[]> buffer_of(std::size_t size) {
  return std::unique_ptr<char[]>(new char[size]);
}

}  // namespace

std::optional<std::string> unpack_lz4(std::string_view packed, std::size_t size) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (packed.size() > kMost || size > kMost) return {};
  const auto buffer = buffer_of(size);
  const int wanted = static_cast<int>(size);
  const int got =
      LZ4_decompress_safe(packed.data(), buffer.get(), static_cast<int>(packed.size()), wanted);
  if (got != wanted) return {};
  return std::string(buffer.get(), size);
}

std::optional<std::string> unpack_zstd(std::string_view packed, std::size_t size) {
  // Bytes after the frame are padding.
  const std::size_t frame = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
  if (ZSTD_isError(frame)) return {};
  const auto buffer = buffer_of(size);
  if (ZSTD_decompress(buffer.get(), size, packed.data(), frame) != size) return {};
  return std::string(buffer.get(), size);
}

#else  // the build found no static archives of these libraries

std::optional<std::string> unpack_lz4(std::string_view, std::size_t) { return {}; }
std::optional<std::string> unpack_zstd(std::string_view, std::size_t) { return {}; }

#endif

}  // namespace cuvmm::kernels
