// SPDX-License-Identifier: Apache-2.0
// The emulator in the process of a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "fuzz/machine/driver_library.h"
#include "fuzz/search/stacked.h"

namespace cuvmm::fuzz {

inline Differential& emulated() {
  static Differential* const only = [] {
    setenv("CUVMM_DEVICES", "3", 1);
    setenv("CUVMM_DEVICE_MEMORY", "64M", 1);
    setenv("CUVMM_MULTICAST_TIMEOUT_MS", "0", 1);
    const LoadedDriver loaded = load_driver(CUVMM_EMULATOR);
    EXPECT_EQ(loaded.error, "");
    const DifferentialOptions options = {
        .multicast = loaded.emulated,
        .destroy_graph = function_of<CUresult(CUgraph)>(loaded, "cuGraphDestroy")};
    return new Differential(loaded.driver, load_profile(builtin_profiles().front()).profile,
                            options);
  }();
  return *only;
}

/// Returns the problem of a program text, without or with the shim; "" for none.
inline std::string disagreement(std::string_view text) {
  const TextOps read = from_text(text);
  if (!read.error.empty()) return read.error;
  const Result result = run_stacked(emulated(), read.ops);
  return result.problem;
}

}  // namespace cuvmm::fuzz
