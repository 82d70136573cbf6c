// SPDX-License-Identifier: Apache-2.0
// Makes programs: mostly legal ones, with faults planted here and there.
#pragma once

#include <cstdint>

#include "fuzz/ops/op.h"
#include "rulebook/rule.h"

namespace cuvmm::fuzz {

/// Small, fast and the same everywhere (xorshift64*), so that a seed means a program.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  /// 0..n-1; 0 for n = 0.
  std::uint32_t below(std::uint32_t n) {
    return n ? static_cast<std::uint32_t>((next() >> 33) % n) : 0;
  }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

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
  std::uint64_t enabled = ~std::uint64_t{0};  ///< bit per Code
};

/// What programs may be made of.
struct Scope {
  int devices = 1;
  int processes = 1;
  bool multicast = false;
};

/// A random style: swarm selection of calls, sizes, threads and share of faults. With two processes
/// most programs are of both.
Style swarm(Random& random, const Scope& scope);

Ops generate(Random& random, const Style& style);

/// Structure-aware changes: insert, remove, repeat, exchange, retarget or change an op, plant a
/// fault. The result is canonical, at most `most` ops, its references bound to live producers.
void mutate(Ops& ops, Random& random, const Scope& scope, std::size_t most);
/// The head of one program and the tail of another, references rebound.
Ops cross_over(const Ops& a, const Ops& b, Random& random, std::size_t most);

/// Changes the program so that some call breaks this rule, if it is one that can be planted and
/// the program has a call to do it in. False when nothing was changed.
bool plant(Ops& ops, Rule rule, Random& random);
/// The rules that plant() knows.
std::span<const Rule> plantable();

}  // namespace cuvmm::fuzz
