// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/clock.h"

#include <chrono>

#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

// The instructions of the grid: so a clock grows while its kernel runs, however slowly the emulator
// runs it.
std::uint64_t cycles(Warp& warp) { return warp.block().grid().steps(); }

std::uint64_t nanoseconds(Warp&) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

template <std::uint64_t (*kClock)(Warp&), unsigned kShift>
void read(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t value = kClock(warp) >> kShift;
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) { out[lane] = value; });
}

}  // namespace

bool reads_clock(Run run) { return run == read<cycles, 0> || run == read<cycles, 32>; }

Run clock_named(std::string_view name) {
  if (name == "%clock" || name == "%clock64") return read<cycles, 0>;
  if (name == "%clock_hi") return read<cycles, 32>;
  if (name == "%globaltimer" || name == "%globaltimer_lo") return read<nanoseconds, 0>;
  if (name == "%globaltimer_hi") return read<nanoseconds, 32>;
  return nullptr;
}

}  // namespace cuvmm::kernels
