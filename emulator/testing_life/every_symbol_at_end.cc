// SPDX-License-Identifier: Apache-2.0
// After the driver's end every one of its functions answers DEINITIALIZED, and none crashes or
// prints anything, without arguments or with any.
#include <dlfcn.h>

#include "emulator/testing_life/life.h"

namespace {

constexpr const char* kSymbols[] = {
#define CUVMM_DRIVER_SYMBOL(symbol) #symbol,
#include "emulator/driver_symbols.inc"
};

void call_all() {
  using Function = CUresult (*)(void*, void*, void*, void*, void*, void*, void*, void*);
  int wrong = 0;
  for (const char* symbol : kSymbols) {
    const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, symbol));
    EXPECT(function);
    const CUresult answer =
        function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (answer == CUDA_ERROR_DEINITIALIZED) continue;
    std::printf("%s answers %d\n", symbol, answer);
    ++wrong;
  }
  std::fflush(stdout);
  if (wrong != 0) _exit(1);
}

}  // namespace

int main() {
  std::atexit(call_all);
  use_device();
  return 0;
}
