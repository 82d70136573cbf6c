// SPDX-License-Identifier: Apache-2.0
// Makes programs: mostly legal ones, with faults planted here and there.
#pragma once

#include <cstdint>

#include "fuzz/generate/style.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::fuzz {

Ops generate(Random& random, const Style& style);

/// Changes the program as a program, not as bytes: inserts, removes, repeats, exchanges, retargets
/// or changes an op, or plants a fault. The result is canonical, has at most `most` ops, and its
/// references are bound to live producers.
void mutate(Ops& ops, Random& random, const Scope& scope, std::size_t most);
/// Joins the head of one program and the tail of another, and binds the references anew.
Ops cross_over(const Ops& a, const Ops& b, Random& random, std::size_t most);

/// Changes the program so that some call breaks this rule. False, without a change, where plant()
/// does not know the rule or the program has no suitable call.
bool plant(Ops& ops, Rule rule, Random& random);
/// The rules that plant() knows.
std::span<const Rule> plantable();
/// The rules that only programs with logical endpoints can break.
std::span<const Rule> plantable_in_endpoints();
/// The rules that only programs with calls of is_further() can break.
std::span<const Rule> plantable_further();

}  // namespace cuvmm::fuzz
