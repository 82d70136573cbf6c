// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/generator.h"

#include "fuzz/plain/maker.h"

namespace cuvmm::fuzz::plain {

Ops generate(std::uint64_t seed, std::uint64_t number) {
  Random random(seed * 1000003 + number);
  Maker maker(random);
  Ops ops;
  const std::uint32_t count = 15 + random.below(56);
  while (ops.size() < count) {
    ops.push_back(maker.make());
    canonicalise(ops.back());
  }
  return ops;
}

}  // namespace cuvmm::fuzz::plain
