// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/moments.h"

#include <charconv>
#include <string>

#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

Moments::Moments(const ProcessTimeline& timeline) : timeline_(timeline) {
  using O = timeline::Object;
  for (const Life& life : timeline.lives) {
    if (life.begin_ns >= 0) calls_.emplace(life.begin_call, life.begin_ns);
    if (!life.alive()) calls_.emplace(life.end_call, life.end_ns);
    lives_.emplace(std::make_pair(life.begin_call, life.value), &life);
    if (life.kind == O::kAllocation || life.kind == O::kImport) memory_.emplace(life.value, &life);
  }
  for (const AccessChange& access : timeline.access) calls_.emplace(access.call, access.ns);
  for (const TimelineSample& sample : timeline.samples) calls_.emplace(sample.call, sample.ns);
}

std::int64_t Moments::of_call(std::uint64_t number) const {
  if (number == 0) return timeline_.end_ns;
  auto after = calls_.lower_bound(number);
  if (after == calls_.end()) return calls_.empty() ? 0 : calls_.rbegin()->second;
  if (after->first == number || after == calls_.begin()) return after->second;
  return std::prev(after)->second;
}

const Life* Moments::life_of(const Json& object) const {
  std::string text = text_in(object, "value");
  const bool hex = text.starts_with("0x");
  if (hex) text.erase(0, 2);
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (read.ec != std::errc{}) return nullptr;
  const auto found = lives_.find({number_in(object, "made_by_call"), number});
  return found == lives_.end() ? nullptr : found->second;
}

const Life* Moments::memory_of(const Life& life) const {
  using O = timeline::Object;
  if (life.kind == O::kAllocation || life.kind == O::kImport) return &life;
  const auto [from, to] = memory_.equal_range(life.handle);
  for (auto at = from; at != to; ++at) {
    const Life& memory = *at->second;
    const bool began = memory.begin_ns <= life.begin_ns;
    const bool lasted = memory.alive() || memory.end_ns >= life.begin_ns;
    if (began && lasted) return &memory;
  }
  return nullptr;
}

std::int32_t Moments::device_of(const Life& mapping) const {
  const Life* const memory = memory_of(mapping);
  return memory ? memory->device : mapping.device;
}

}  // namespace cuvmm::tools
