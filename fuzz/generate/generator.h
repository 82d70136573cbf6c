// SPDX-License-Identifier: Apache-2.0
// Makes programs: mostly legal ones, with faults planted here and there.
#pragma once

#include <cstdint>

#include "fuzz/generate/style.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::fuzz {

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
/// Those that only programs with logical endpoints can break.
std::span<const Rule> plantable_in_endpoints();
/// Those that only programs with calls of is_further() can break.
std::span<const Rule> plantable_further();

}  // namespace cuvmm::fuzz
