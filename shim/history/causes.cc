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

std::optional<Causes::Capture> Causes::forbids(std::uint32_t thread) const {
  std::optional<Capture> found;
  for (const Capture& one : captures_) {
    const bool own = one.thread == thread && one.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    if (own || one.mode == CU_STREAM_CAPTURE_MODE_GLOBAL) found = one;
  }
  return found;
}

std::optional<Causes::Capture> Causes::began_on(std::uint64_t stream, std::uint32_t thread) const {
  const auto found = std::ranges::find_if(
      captures_, [&](const Capture& one) { return is_of(one, stream, thread); });
  return found == captures_.end() ? std::nullopt : std::optional(*found);
}

std::optional<Causes::Capture> Causes::newest() const {
  return captures_.empty() ? std::nullopt : std::optional(captures_.back());
}

void Causes::recorded(std::uint64_t event, const Origin& by) {
  if (by.call == 0) {
    captured_events_.erase(event);
  } else if (captured_events_.size() < kMostEvents || captured_events_.contains(event)) {
    captured_events_[event] = by;
  }
}

void Causes::captured_call(CUgraphNode node, const Origin& by) {
  if (captured_calls_.size() < kMostCalls || captured_calls_.contains(node))
    captured_calls_[node] = by;
}

Origin Causes::captured_by(CUgraphNode node) const {
  const auto found = captured_calls_.find(node);
  return found == captured_calls_.end() ? Origin() : found->second;
}

Origin Causes::recorded_in_capture(std::uint64_t event) const {
  const auto found = captured_events_.find(event);
  return found == captured_events_.end() ? Origin() : found->second;
}

void Causes::context_ended(const Origin& by, int device) {
  context_end_ = by;
  context_ends_.insert(by.call);
  if (context_ends_.size() > kMostEnds) context_ends_.erase(context_ends_.begin());
  captured_calls_.clear();
  captured_events_.clear();
  // The memory outlives the context: an H100 was asked.
  for (auto& [base, memory] : nodes_) {
    const bool ends = device >= 0 && memory.device == device;
    if (ends && memory.outlived.call == 0) memory.outlived = by;
  }
}

bool Causes::ended_a_context(std::uint64_t call) const { return context_ends_.contains(call); }

void Causes::unmet(const Hint& hint) {
  if (hints_.size() < kMostHints) return hints_.push_back(hint);
  hints_[next_hint_++ % kMostHints] = hint;
}

std::optional<Causes::Hint> Causes::unmet_before(
    std::uint64_t address, std::uint64_t call,
    const std::function<bool(const Hint&)>& counts) const {
  std::optional<Hint> newest;
  for (const Hint& one : hints_) {
    if (one.asked != address || one.by.call >= call || !counts(one)) continue;
    if (!newest || newest->by.call < one.by.call) newest = one;
  }
  return newest;
}

void Causes::captured(std::uint64_t base, std::uint64_t size, const Origin& by) {
  if (nodes_.size() < kMostNodes || nodes_.contains(base))
    nodes_[base] = {.size = size, .captured = by, .launched = {}, .allocated = {}, .freed_by = {}};
}

void Causes::instantiated(std::uint64_t base, std::uint64_t size) {
  if (nodes_.size() < kMostNodes || nodes_.contains(base)) nodes_[base].size = size;
}

void Causes::launched(std::uint64_t base, std::uint64_t size, std::uint64_t exec, int device,
                      const Origin& by) {
  if (nodes_.size() == kMostNodes && !nodes_.contains(base)) return;
  NodeMemory& memory = nodes_[base];
  memory.size = size;
  memory.launched = memory.allocated = by;
  memory.exec = exec;
  memory.device = device;
  memory.freed_within = false;
  memory.outlived = {};
}

void Causes::freed(std::uint64_t address, const Origin& by) {
  const auto found = nodes_.find(address);
  if (found == nodes_.end()) return;
  if (found->second.launched.call != 0) freed_launches_.insert(found->second.launched.stack);
  found->second.launched = {};
  found->second.freed_by = by;
}

void Causes::captured_free(std::uint64_t address) {
  const auto found = nodes_.find(address);
  if (found == nodes_.end() || !is_alone()) return;
  const std::uint64_t made = found->second.captured.call;
  if (made > captures_.front().begun.call) found->second.freed_within = true;
}

std::vector<std::pair<std::uint64_t, Causes::NodeMemory>> Causes::left_by_launches() const {
  std::vector<std::pair<std::uint64_t, NodeMemory>> left;
  for (const auto& [base, memory] : nodes_) {
    if (memory.launched.call != 0) left.emplace_back(base, memory);
  }
  return left;
}

bool Causes::may_have_left() const {
  return std::ranges::any_of(nodes_,
                             [](const auto& node) { return node.second.launched.call != 0; });
}

void Causes::freed_within(std::uint64_t address, const Origin& by) {
  const auto found = nodes_.find(address);
  if (found == nodes_.end()) return;
  NodeMemory& memory = found->second;
  memory.freed_within = true;
  if (by.call == 0) return;
  memory.launched = {};
  memory.freed_by = by;
}

std::optional<std::pair<std::uint64_t, Causes::NodeMemory>> Causes::node_memory(
    std::uint64_t address) const {
  const auto after = nodes_.upper_bound(address);
  if (after == nodes_.begin()) return std::nullopt;
  const auto& [base, memory] = *std::prev(after);
  return address - base < memory.size ? std::optional(std::pair(base, memory)) : std::nullopt;
}

}  // namespace cuvmm::shim
