// SPDX-License-Identifier: Apache-2.0
// The version of this libcudart: the source is compiled once for each.
#pragma once

namespace cuvmm::runtime {

inline constexpr int kMajor = CUVMM_RUNTIME_MAJOR;
static_assert(kMajor == 12 || kMajor == 13);

/// The answer of cudaRuntimeGetVersion: 12.9 or 13.0, never newer than the emulated driver.
inline constexpr int kVersion = kMajor == 12 ? 12090 : 13000;

}  // namespace cuvmm::runtime
