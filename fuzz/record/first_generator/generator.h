// SPDX-License-Identifier: Apache-2.0
// Makes the programs of the first recordings from their seeds. It is the state of fuzz/generate/
// before external memory, pools and IPC, and must never change: because of it, 3 million recorded
// calls need no bytes of their own.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz::first {

/// The style of a program, as cuvmm::fuzz::Style.
struct Style {
  int devices = 1;
  unsigned ops = 30;
  unsigned granules = 8;
  unsigned pieces = 3;
  unsigned faults = 8;
  unsigned threads = 1;
  int processes = 1;
  unsigned odds = 11;  ///< number of indices into kOdd at that time
  std::uint32_t enabled = ~std::uint32_t{0};
};

Style swarm(Random& random, int devices, int processes);
Ops generate(Random& random, const Style& style);
/// Changes the program so that some call breaks a rule, if it has a suitable call.
void plant(Ops& ops, Random& random);

}  // namespace cuvmm::fuzz::first
