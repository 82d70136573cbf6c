// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/op.h"

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz {

namespace {

constexpr char kMagic[8] = {'c', 'u', 'v', 'm', 'm', 'f', 'z', '1'};

}  // namespace

bool split(std::uint64_t distance, std::uint8_t& granules, std::uint8_t& odd) {
  for (std::size_t i = 0; i < kOdds; ++i) {
    const std::uint64_t rest = distance - kOdd[i];
    if (rest % kGranule != 0 || rest / kGranule > 255) continue;
    granules = static_cast<std::uint8_t>(rest / kGranule);
    odd = static_cast<std::uint8_t>(i);
    return true;
  }
  return false;
}

int processes_of(const Ops& ops) {
  int most = 0;
  for (const Op& op : ops) most = std::max(most, process_of(op));
  return most + 1;
}

std::vector<std::uint8_t> encode(const Ops& ops) {
  std::vector<std::uint8_t> bytes(kHeaderBytes + ops.size() * sizeof(Op));
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  if (!ops.empty()) std::memcpy(bytes.data() + kHeaderBytes, ops.data(), ops.size() * sizeof(Op));
  return bytes;
}

Ops decode(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) return {};
  const std::size_t count = std::min((bytes.size() - kHeaderBytes) / sizeof(Op), kMostOps);
  Ops ops(count);
  if (count) std::memcpy(ops.data(), bytes.data() + kHeaderBytes, count * sizeof(Op));
  for (Op& op : ops) canonicalise(op);
  return ops;
}

}  // namespace cuvmm::fuzz
