// libcuvmm-cold.so: the libcuda of CUVMM_BENCH_BELOW, whose calls leave the caches cold as a driver
// does that works in the kernel. Each intercepted function evicts CUVMM_BENCH_COLD KiB of data and
// of code before it goes on, and counts the time that this took: cuvmm-bench takes it off.
#include <cstdlib>

#include "api/driver.h"
#include "api/for_each.h"
#include "bench/chill.h"
#include "bench/ticks.h"

#define CUVMM_EXPORTED __attribute__((visibility("default")))

/// Spent in evicting so far, on ticks()'s clock. One thread calls.
extern "C" CUVMM_EXPORTED std::uint64_t cuvmm_cold_ticks;
std::uint64_t cuvmm_cold_ticks = 0;

/// To the shim it is the emulator: handles are numbers.
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

}  // namespace

#define CUVMM_PARAMETER(kind, type, name) , type name
#define CUVMM_ARGUMENT(kind, type, name) call.name = name;
#define CUVMM_AFTER_FIRST_(first, ...) __VA_ARGS__
#define CUVMM_AFTER_FIRST(...) CUVMM_AFTER_FIRST_(__VA_ARGS__)
#define CUVMM_PARAMETERS(...) CUVMM_AFTER_FIRST(void CUVMM_FOR_EACH(CUVMM_PARAMETER, __VA_ARGS__))

#define CUVMM_ENTRY(Name, area, ...)                                     \
  extern "C" CUresult cuvmm_cold_##Name(CUVMM_PARAMETERS(__VA_ARGS__)) { \
    calls::Name call{};                                                  \
    CUVMM_FOR_EACH(CUVMM_ARGUMENT, __VA_ARGS__)                          \
    return run(call);                                                    \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"

// The C names, as the emulator does it: <cuda.h> #defines many of them.
#define CUVMM_ALIAS(Name, text, exported)                       \
  extern "C" decltype(cuvmm_cold_##Name) exported __asm__(text) \
      __attribute__((visibility("default"), alias("cuvmm_cold_" #Name)));
#define CUVMM_NO_ALIAS(...)
#define CUVMM_SECOND(first, second, ...) second
#define CUVMM_CHOOSE(...) CUVMM_SECOND(__VA_ARGS__, CUVMM_ALIAS, )
#define CUVMM_IS_Other ~, CUVMM_NO_ALIAS
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  CUVMM_CHOOSE(CUVMM_IS_##Name)(Name, #symbol, exported_##symbol)
#include "api/entry_points.def"

}  // namespace cuvmm::bench
