// SPDX-License-Identifier: Apache-2.0
// The programs of the first recordings, from their seeds. Their generator was an earlier one than
// fuzz/generate/, before it learned of external memory, pools and IPC. It stays as it is: 3 million
// recorded calls need no bytes of their own because of it.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz::first {

/// What programs are made of, as cuvmm::fuzz::Style.
struct Style {
  int devices = 1;
  unsigned ops = 30;
  unsigned granules = 8;
  unsigned pieces = 3;
  unsigned faults = 8;
  unsigned threads = 1;
  int processes = 1;
  unsigned odds = 11;  ///< indices into kOdd that there were
  std::uint32_t enabled = ~std::uint32_t{0};
};

Style swarm(Random& random, int devices, int processes);
Ops generate(Random& random, const Style& style);
/// Changes the program so that some call breaks a rule, if it has a call to do it in.
void plant(Ops& ops, Random& random);

}  // namespace cuvmm::fuzz::first
