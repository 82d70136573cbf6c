// SPDX-License-Identifier: Apache-2.0
// Fuzzes the shim on the emulator: it must find the right rules and no others, and change no
// answer.
#include "fuzz/search/stacked.h"
#include "fuzz/targets/engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cuvmm::fuzz::run_input({data, size}, "shim", cuvmm::fuzz::run_share);
  return 0;
}
