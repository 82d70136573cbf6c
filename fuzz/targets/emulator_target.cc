// SPDX-License-Identifier: Apache-2.0
// Fuzzes the emulator against the naive reference.
#include "fuzz/targets/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cuvmm::fuzz::run_input({data, size}, "emulator",
                         [](cuvmm::fuzz::Differential& machine, const cuvmm::fuzz::Ops& ops) {
                           return machine.run(ops);
                         });
  return 0;
}
