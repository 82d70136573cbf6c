// SPDX-License-Identifier: Apache-2.0
#include "shim/history/causes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t kPerThreadStream = 2;

bool is_of(const Causes::Capture& one, std::uint64_t stream, std::uint32_t thread) {
  return one.stream == stream && (stream != kPerThreadStream || one.thread == thread);
}

}  // namespace

void Causes::begun(const Capture& capture) {
  ended(capture.stream, capture.thread);
  captures_.push_back(capture);
}

void Causes::ended(std::uint64_t stream, std::uint32_t thread) {
  std::erase_if(captures_, [&](const Capture& one) { return is_of(one, stream, thread); });
}

std::optional<Causes::Capture> Causes::forbids(std::uint64_t stream, std::uint32_t thread) const {
  std::optional<Capture> found;
  for (const Capture& one : captures_) {
    if (stream > kPerThreadStream - 1 && is_of(one, stream, thread)) return one;
    // A relaxed capture forbids only calls on its own streams, and on streams that wait for them.
    const bool own = one.thread == thread;
    if (own || one.mode == CU_STREAM_CAPTURE_MODE_GLOBAL) found = one;
  }
  return found;
}

void Causes::unmet(const Hint& hint) {
  if (hints_.size() < kMostHints) return hints_.push_back(hint);
  hints_[next_hint_++ % kMostHints] = hint;
}

std::optional<Causes::Hint> Causes::unmet_before(std::uint64_t address, std::uint64_t call) const {
  std::optional<Hint> newest;
  for (const Hint& one : hints_) {
    const bool covers = address >= one.asked && address - one.asked < one.size;
    if (!covers || one.by.call >= call) continue;
    if (!newest || newest->by.call < one.by.call) newest = one;
  }
  return newest;
}

void Causes::captured(std::uint64_t base, std::uint64_t size, const Origin& by) {
  if (nodes_.size() < kMostNodes || nodes_.contains(base)) nodes_[base] = {size, by, {}, false};
}

void Causes::launched(std::uint64_t base, std::uint64_t size, const Origin& by) {
  if (nodes_.size() == kMostNodes && !nodes_.contains(base)) return;
  NodeMemory& memory = nodes_[base];
  memory.size = size;
  memory.launched = by;
}

void Causes::freed_elsewhere(std::uint64_t base) {
  if (nodes_.size() < kMostNodes || nodes_.contains(base)) nodes_[base].freed_elsewhere = true;
}

void Causes::freed(std::uint64_t address) {
  const auto found = nodes_.find(address);
  if (found != nodes_.end()) found->second.launched = {};
}

std::optional<std::pair<std::uint64_t, Causes::NodeMemory>> Causes::node_memory(
    std::uint64_t address) const {
  const auto after = nodes_.upper_bound(address);
  if (after == nodes_.begin()) return std::nullopt;
  const auto& [base, memory] = *std::prev(after);
  return address - base < memory.size ? std::optional(std::pair(base, memory)) : std::nullopt;
}

}  // namespace cuvmm::shim
