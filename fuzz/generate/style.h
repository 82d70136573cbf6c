// SPDX-License-Identifier: Apache-2.0
// What a program is made of: drawn for each, so that programs differ more than their calls do.
#pragma once

#include "fuzz/generate/random.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// What programs are made of.
struct Style {
  int devices = 1;
  unsigned ops = 30;      ///< about how many
  unsigned granules = 8;  ///< of a reservation, at most
  unsigned pieces = 3;    ///< granules of an allocation, at most
  unsigned faults = 8;    ///< percent of ops that get one
  unsigned threads = 1;
  int processes = 1;
  bool multicast = false;                     ///< only for what never loads a real driver
  bool endpoints = false;                     ///< the same, of a driver that has them
  std::uint64_t enabled = ~std::uint64_t{0};  ///< bit per Code up to kFirstFurther
  std::uint64_t further = 0;                  ///< the same for those that follow
  bool allows(Code code) const {
    const auto bit =
        static_cast<unsigned>(code) - (is_further(code) ? static_cast<unsigned>(kFirstFurther) : 0);
    return ((is_further(code) ? further : enabled) >> bit & 1) != 0;
  }
};

/// What programs may be made of.
struct Scope {
  int devices = 1;
  int processes = 1;
  bool multicast = false;
  bool endpoints = false;  ///< of no use without multicast
  bool further = false;    ///< calls of is_further(); the recorded seeds are without them
};

/// All calls of is_further(), as Style::further.
inline constexpr std::uint64_t kAllFurther =
    (std::uint64_t{1} << (kCodes - static_cast<std::size_t>(kFirstFurther))) - 1;

/// A random style: swarm selection of calls, sizes, threads and share of faults. With two processes
/// most programs are of both.
Style swarm(Random& random, const Scope& scope);

}  // namespace cuvmm::fuzz
