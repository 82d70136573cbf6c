// SPDX-License-Identifier: Apache-2.0
#include "fuzz/generate/generator.h"

#include <algorithm>

#include "fuzz/generate/maker.h"

namespace cuvmm::fuzz {

namespace {

// Binds each reference without a live producer to a live object of the same process. Descriptors
// and blobs may come from either process.
void rebind(Ops& ops, Random& random) {
  std::vector<std::uint8_t> bound[kProcesses][kNameKinds];
  for (Op& op : ops) {
    const Shape& s = shape(op.code);
    const auto names_of = [&](NameKind kind) -> auto& {
      const bool of_both = kind == NameKind::kDescriptor || kind == NameKind::kBlob;
      return bound[of_both ? 0 : process_of(op)][static_cast<std::size_t>(kind)];
    };
    const auto fix = [&](NameKind kind, std::uint8_t& ref) {
      if (kind == NameKind::kNone || ref == 0) return;
      const auto& names = names_of(kind);
      if (names.empty() || std::find(names.begin(), names.end(), ref) != names.end()) return;
      ref = pick(names, random);
    };
    fix(s.ref, op.ref);
    fix(s.ref2, op.ref2);
    if (s.makes != NameKind::kNone) names_of(s.makes).push_back(op.name);
  }
}

}  // namespace

Ops generate(Random& random, const Style& style) {
  Ops ops;
  Sketch now;
  Maker maker(random, style);
  while (ops.size() < std::min<std::size_t>(style.ops, kMostOps)) {
    const Op op = maker.make(now);
    now.follow(op);
    ops.push_back(op);
  }
  return ops;
}

void mutate(Ops& ops, Random& random, const Scope& scope, std::size_t most) {
  Style style = swarm(random, scope);
  style.faults = 15;
  const unsigned changes = 1 + random.below(4);
  for (unsigned i = 0; i < changes; ++i) {
    const std::size_t at = ops.empty() ? 0 : random.below(static_cast<std::uint32_t>(ops.size()));
    const unsigned kind = ops.empty() ? 0 : random.below(10);
    if (kind < 4) {  // insert what fits there, more often near the end
      const std::size_t where = random.chance(50) ? ops.size() : at;
      Sketch now;
      for (std::size_t j = 0; j < where; ++j) now.follow(ops[j]);
      now.avoid(ops);
      Maker maker(random, style);
      ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(where), maker.make(now));
    } else if (kind == 4) {
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind == 5) {
      ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(at), Op(ops[at]));
    } else if (kind == 6) {
      std::swap(ops[at], ops[random.below(static_cast<std::uint32_t>(ops.size()))]);
    } else if (kind == 7) {
      const bool endpoints = style.endpoints && random.chance(50);
      const bool further = style.further && random.chance(30);
      const auto rules = endpoints ? plantable_in_endpoints()
                         : further ? plantable_further()
                                   : plantable();
      plant(ops, rules[random.below(static_cast<std::uint32_t>(rules.size()))], random);
    } else {  // one byte of one op
      auto* bytes = reinterpret_cast<std::uint8_t*>(&ops[at]);
      bytes[1 + random.below(sizeof(Op) - 1)] = byte(random.below(random.chance(70) ? 8 : 256));
      canonicalise(ops[at]);
      if (process_of(ops[at]) >= scope.processes) ops[at].actor = 0;
      // The same call, but the other process makes it.
      if (scope.processes > 1 && crosses(ops[at].code) && random.chance(20)) {
        ops[at].actor = actor_of(1 - process_of(ops[at]), 0);
      }
    }
  }
  if (ops.size() > most) ops.resize(most);
  if (random.chance(70)) rebind(ops, random);
}

Ops cross_over(const Ops& a, const Ops& b, Random& random, std::size_t most) {
  Ops out(a.begin(), a.begin() + random.below(static_cast<std::uint32_t>(a.size() + 1)));
  out.insert(out.end(), b.begin() + random.below(static_cast<std::uint32_t>(b.size() + 1)),
             b.end());
  if (out.size() > most) out.resize(most);
  rebind(out, random);
  return out;
}

}  // namespace cuvmm::fuzz
