// SPDX-License-Identifier: Apache-2.0
// libcuvmm-cold.so: stands in front of the libcuda in CUVMM_BENCH_BELOW. Its calls leave the caches
// cold, like a driver that works in the kernel. Each intercepted function evicts CUVMM_BENCH_COLD
// KiB of data and of code before it calls on, and counts the time of that, which cuvmm-bench
// subtracts.
#include <cstdlib>

#include "api/default_stream.h"
#include "api/driver/driver.h"
#include "api/for_each.h"
#include "bench/measure/chill.h"
#include "bench/measure/ticks.h"

#define CUVMM_EXPORTED __attribute__((visibility("default")))

/// The time spent on evicting so far, in ticks(). Only one thread may make calls.
extern "C" CUVMM_EXPORTED std::uint64_t cuvmm_cold_ticks;
std::uint64_t cuvmm_cold_ticks = 0;

/// Makes the shim treat this library as the emulator, because its handles are numbers, too.
extern "C" CUVMM_EXPORTED const int cuvmmEmulatorVersion;
const int cuvmmEmulatorVersion = 0;

namespace cuvmm::bench {
namespace {

struct Below {
  Driver driver;
  Chill chill;

  Below() : driver(load_driver(text("CUVMM_BENCH_BELOW")).driver), chill(kibibytes()) {}

 private:
  static const char* text(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
  }
  static std::size_t kibibytes() {
    return std::strtoul(text("CUVMM_BENCH_COLD"), nullptr, 10) * 1024;
  }
};

Below& below() {
  static Below made;
  return made;
}

template <class CallStruct>
CUresult run(const CallStruct& call) {
  Below& real = below();
  if constexpr (CallStruct::kIntercepted) {
    const std::uint64_t start = ticks();
    real.chill();
    cuvmm_cold_ticks += ticks() - start;
  }
  return real.driver(call);
}

template <class CallStruct>
CUresult run_per_thread(const CallStruct& call) {
  return run(call);
}

}  // namespace

#include "api/symbols/export_entries.def"

}  // namespace cuvmm::bench
