// SPDX-License-Identifier: Apache-2.0
// The style of a program: drawn for each program, so that programs differ more than their calls do.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// The style of one program.
struct Style {
  int devices = 1;
  unsigned ops = 30;      ///< roughly how many ops
  unsigned granules = 8;  ///< of a reservation, at most
  unsigned pieces = 3;    ///< granules of an allocation, at most
  unsigned faults = 8;    ///< percent of ops with a fault
  unsigned threads = 1;
  int processes = 1;
  bool multicast = false;                     ///< only for drivers that never reach a real driver
  bool endpoints = false;                     ///< as `multicast`, where the driver has endpoints
  std::uint64_t enabled = ~std::uint64_t{0};  ///< bit per Code up to kFirstFurther
  std::uint64_t further = 0;                  ///< bit per Code from kFirstFurther on
  bool allows(Code code) const {
    const auto bit =
        static_cast<unsigned>(code) - (is_further(code) ? static_cast<unsigned>(kFirstFurther) : 0);
    return ((is_further(code) ? further : enabled) >> bit & 1) != 0;
  }
};

/// The limits of all styles.
struct Scope {
  int devices = 1;
  int processes = 1;
  bool multicast = false;
  bool endpoints = false;  ///< has an effect only with multicast
  bool further = false;    ///< calls of is_further(); the first recorded seeds do not have them
  bool tiles = further;    ///< those about sparse arrays, too; no recorded seed has them
};

/// All calls of is_further(), as Style::further.
inline constexpr std::uint64_t kAllFurther =
    (std::uint64_t{1} << (kCodes - static_cast<std::size_t>(kFirstFurther))) - 1;

/// A random style: a random selection of calls, sizes, threads and share of faults. With two
/// processes, most programs use both.
Style swarm(Random& random, const Scope& scope);

}  // namespace cuvmm::fuzz
