// SPDX-License-Identifier: Apache-2.0
#include "recorder/timeline/reader.h"

#include <algorithm>
#include <cstddef>

#include "recorder/recorded_file.h"

namespace cuvmm::timeline {

std::string read_file(const std::string& path, Recorded& out) {
  recorder::RecordedFile file;
  const recorder::Refusal refusal =
      file.open(path, kShape, recorder::RecordedFile::Named::kByFolder);
  if (refusal.kind != recorder::Refusal::Kind::kNone) return refusal.text;
  if (!file.read(&out.header, sizeof out.header, 0)) return "it ends too early";
  const Header& header = out.header;
  if (header.samples > kSamples || header.newest > 1) return "its header is damaged";
  out.samples.resize(header.samples);
  constexpr std::uint64_t kAll = kFirstEvents + kLastEvents;
  Count& count = out.count = header.counts[header.newest];
  // A killed process may have left events that it had not counted.
  std::vector<Event>& events = out.events;
  events.resize(std::min(count.events, kAll - kMostUncounted) + kMostUncounted);
  if (!file.read(out.samples.data(), out.samples.size() * sizeof(Sample),
                 offsetof(Image, samples)) ||
      !file.read(events.data(), events.size() * sizeof(Event), offsetof(Image, events))) {
    return "it ends too early";
  }
  for (const std::uint64_t all = count_events(events.data(), count.events); count.events < all;) {
    timeline::count(count, events[place_of(count.events)]);
  }
  // The last events are a ring: the oldest of them follows the first events.
  if (count.events > kAll) {
    const auto last = events.begin() + kFirstEvents;
    std::rotate(last, events.begin() + static_cast<std::ptrdiff_t>(place_of(count.events)),
                events.end());
  } else {
    events.resize(count.events);
  }
  return "";
}

}  // namespace cuvmm::timeline
