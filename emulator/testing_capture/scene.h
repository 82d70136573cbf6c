// SPDX-License-Identifier: Apache-2.0
// The objects that the calls of this test use: a capturing stream, a stream that does not capture,
// and memory of every kind.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "api/sizes.h"

namespace cuvmm::capture_test {

struct Scene {
  CUstream capturing = nullptr, other = nullptr;
  CUdeviceptr reserved = 0;                 ///< four granules, with nothing mapped
  CUdeviceptr mapped = 0;                   ///< a granule that can be used
  CUdeviceptr no_access = 0;                ///< a mapped granule without access
  CUmemGenericAllocationHandle handle = 0;  ///< of `mapped`
  CUmemGenericAllocationHandle shareable = 0;
  int descriptor = -1;  ///< of `shareable`
  CUdeviceptr one = 0, two = 0, to_free = 0;
  CUmemoryPool pool = nullptr, to_destroy = nullptr;
  CUdeviceptr of_pool = 0;
  CUevent recorded = nullptr, event = nullptr;
  void* host = nullptr;  ///< page-locked
  char buffer[1 << 16] = {};
  void* registered = nullptr;  ///< a page of `buffer`
  /// The first whole page of `buffer`.
  char* pages() { return buffer + 4096 - reinterpret_cast<std::uintptr_t>(buffer) % 4096; }
};

/// A call; its answer is recorded under its name.
struct Named {
  const char* name;
  CUresult (*call)(Scene&);
};

std::span<const Named> vmm_calls();
std::span<const Named> memory_calls();
std::span<const Named> pool_calls();
std::span<const Named> stream_calls();

/// Creates the streams and all other objects; ends the program where a call fails.
void prepare(Scene& scene, bool blocking);
/// Ends the program, and prints the expression, where the result is no success.
void require(CUresult result, const char* expression);

CUmemAllocationProp properties(bool shareable = false);
CUmemAccessDesc read_write();
CUmemPoolProps pool_properties(bool shareable);

}  // namespace cuvmm::capture_test

#define CUVMM_REQUIRE(expression) ::cuvmm::capture_test::require(expression, #expression)
