// SPDX-License-Identifier: Apache-2.0
// Makes programs about plain memory: most calls are legal, some are wrong.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/plain/op.h"

namespace cuvmm::fuzz::plain {

/// The program of a seed and a number: 15 to 70 calls.
Ops generate(std::uint64_t seed, std::uint64_t number);

}  // namespace cuvmm::fuzz::plain
