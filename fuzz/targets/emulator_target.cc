// SPDX-License-Identifier: Apache-2.0
// Fuzzes the emulator against the naive reference.
#include "fuzz/targets/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm::fuzz;
  const Ops ops = decode({data, size});
  conclude(ops, engine().run(ops), "emulator");
  return 0;
}
