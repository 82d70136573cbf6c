// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/programs.h"

#include <algorithm>
#include <cstring>

#include "fuzz/generate/generator.h"

namespace cuvmm::fuzz {

namespace {

constexpr std::size_t kMostRecordedOps = 64;

// Leaves out the rules that came to plantable() later.
const std::vector<Rule>& rules_of_areas() {
  static const std::vector<Rule> rules = [] {
    const std::span<const Rule> all = plantable();
    std::vector<Rule> out(all.begin(), all.end());
    std::erase_if(out, [](Rule rule) {
      return rule == Rule::kMemoryContext || rule == Rule::kFreeOnce || rule == Rule::kFreeBase;
    });
    return out;
  }();
  return rules;
}

Ops program(Random& random, std::span<const Rule> rules, const Scope& scope) {
  Style style = swarm(random, scope);
  style.ops = (style.processes > 1 ? 20 : 10) + random.below(50);
  if (random.chance(50)) style.faults += 10;
  Ops ops = generate(random, style);
  // Some programs get planted faults, one or several.
  for (unsigned faults = random.chance(30) ? 1 + random.below(3) : 0; faults > 0; --faults) {
    plant(ops, rules[random.below(static_cast<std::uint32_t>(rules.size()))], random);
  }
  return ops;
}

}  // namespace

Ops program_of(Programs programs, std::uint64_t seed, std::uint64_t number, int devices,
               int processes) {
  Random random(seed * 1000003 + number);
  const bool tiles = programs == Programs::kTiles;
  const Scope scope{.devices = devices,
                    .processes = processes,
                    .further = tiles || programs == Programs::kFurther,
                    .tiles = tiles};
  const bool areas = programs == Programs::kAreas;
  Ops ops = program(random, areas ? rules_of_areas() : plantable(), scope);
  if (ops.size() > kMostRecordedOps) ops.resize(kMostRecordedOps);
  // A real driver may run the programs, so multicast calls are removed, although style and machine
  // exclude them already.
  std::erase_if(ops, [](const Op& op) { return is_multicast(op.code); });
  return ops;
}

ProgramBytes bytes_of(const Ops& ops) {
  ProgramBytes out(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) std::memcpy(out[i].data(), &ops[i], sizeof(Op));
  return out;
}

Ops ops_of(const ProgramBytes& bytes) {
  Ops out(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::memcpy(static_cast<void*>(&out[i]), bytes[i].data(), sizeof(Op));
    canonicalise(out[i]);
  }
  return out;
}

}  // namespace cuvmm::fuzz
