// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/timeline.h"

#include <algorithm>
#include <limits>

namespace cuvmm::tools {

const char* name(timeline::Object kind) {
  using O = timeline::Object;
  switch (kind) {
    case O::kReservation:
      return "reservation";
    case O::kAllocation:
      return "allocation";
    case O::kImport:
      return "import";
    case O::kMapping:
      return "mapping";
    case O::kExport:
      return "export";
    case O::kDevice:
      return "device memory";
    case O::kManaged:
      return "managed memory";
    case O::kHost:
      return "host memory";
    case O::kRegistered:
      return "registered memory";
    case O::kPool:
      return "pool memory";
    case O::kIpc:
      return "ipc memory";
    case O::kMulticast:
      return "multicast object";
    case O::kExternal:
      return "external memory";
    case O::kExternalBuffer:
      return "external buffer";
    case O::kBinding:
      return "multicast binding";
    case O::kSparse:
      return "sparse mapping";
    case O::kCount:
      break;
  }
  return "";
}

namespace {

std::int64_t length(const Life& life) {
  if (life.alive() || life.begin_ns < 0) return std::numeric_limits<std::int64_t>::max();
  return life.end_ns - life.begin_ns;
}

}  // namespace

void coarsen(ProcessTimeline& timeline, std::size_t most) {
  std::vector<Life>& lives = timeline.lives;
  if (lives.size() <= most) return;
  std::vector<std::int64_t> lengths;
  for (const Life& life : lives) lengths.push_back(length(life));
  const auto bound = lengths.begin() + static_cast<std::ptrdiff_t>(lives.size() - most);
  std::nth_element(lengths.begin(), bound, lengths.end());
  const std::int64_t shortest = *bound;
  const std::size_t longer = static_cast<std::size_t>(std::count_if(
      lives.begin(), lives.end(), [&](const Life& life) { return length(life) > shortest; }));
  std::size_t room = most - std::min(most, longer);  // places for lives of exactly this length
  const std::size_t before = lives.size();
  std::erase_if(lives, [&](const Life& life) {
    if (length(life) != shortest) return length(life) < shortest;
    if (room == 0) return true;
    --room;
    return false;
  });
  timeline.left_out += before - lives.size();
}

}  // namespace cuvmm::tools
