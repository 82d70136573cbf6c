// SPDX-License-Identifier: Apache-2.0
// The journal of uses against a deliberately simple twin: one list of all uses, each with a copy of
// its ranges.
#include "rulebook/order/uses.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <vector>

namespace cuvmm::testing {
namespace {

constexpr std::size_t kStreams = 3;

struct Known {
  StreamId stream;
  Position position;
  std::vector<UsedRange> ranges;
};

// Small numbers, so that ranges meet, touch and miss each other. Some ranges reach the end of
// memory, and some pointers hold the last address that a word can hold.
UsedRange any_range() {
  const auto base = *rc::gen::inRange<Address>(0, 24);
  const auto size = *rc::gen::inRange<Size>(0, 6);
  return *rc::gen::weightedElement<bool>({{9, false}, {1, true}})
             ? UsedRange{(size == 0 ? GivenWord::kAddress : ~Address{0}) - base,
                         std::min<Size>(size, base + 1)}
             : UsedRange{base, size};
}

// Compares byte by byte. A pointer stands for the one byte that it points to.
bool meets(const UsedRange& range, Address base, Size size) {
  const Size length = range.size == 0 ? 1 : range.size;
  for (Size i = 0; i < length; ++i) {
    for (Size k = 0; k < size; ++k) {
      if (range.base + i == base + k) return true;
    }
  }
  return false;
}

using Found = std::vector<std::tuple<StreamId, Position, Address, Size>>;

Found found_by(const std::vector<Known>& all, Address base, Size size) {
  Found found;
  for (const Known& each : all) {
    const auto range = std::find_if(each.ranges.begin(), each.ranges.end(),
                                    [&](const UsedRange& r) { return meets(r, base, size); });
    if (range != each.ranges.end()) {
      found.emplace_back(each.stream, each.position, range->base, range->size);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

RC_GTEST_PROP(UsesProperty, AgreesWithOneList, ()) {
  Uses uses;
  std::vector<Known> twin;
  std::array<Position, kStreams + 1> last{};
  const auto never = [](const Use&) { RC_FAIL("nothing has to make room"); };
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const StreamId stream = *rc::gen::inRange<StreamId>(1, kStreams + 1);
    switch (*rc::gen::weightedElement<int>({{6, 0}, {3, 1}, {2, 2}, {1, 3}})) {
      case 0:
      case 1: {
        Use use;
        use.position = ++last[stream];
        std::vector<UsedRange> ranges;
        const int count = *rc::gen::inRange(1, 4);
        for (int i = 0; i < count; ++i) ranges.push_back(any_range());
        if (*rc::gen::arbitrary<bool>()) {
          const auto sized = std::stable_partition(
              ranges.begin(), ranges.end(), [](const UsedRange& range) { return range.size == 0; });
          std::vector<GivenWord> pointers;
          for (auto it = ranges.begin(); it != sized; ++it) {
            pointers.emplace_back(it->base, it->evidence);
          }
          uses.add(stream, use, {pointers, {sized, ranges.end()}}, never);
        } else {
          uses.add(stream, use, std::make_shared<const std::vector<UsedRange>>(ranges), never);
        }
        twin.push_back({stream, use.position, ranges});
        break;
      }
      case 2: {
        const auto over = *rc::gen::inRange<Position>(0, last[stream] + 1);
        uses.drop_while(stream, [&](const Use& use) { return use.position <= over; });
        std::erase_if(twin,
                      [&](const Known& k) { return k.stream == stream && k.position <= over; });
        break;
      }
      default: {
        std::size_t dropped = 0;
        uses.forget(stream, [&](const Use&) { ++dropped; });
        RC_ASSERT(std::erase_if(twin, [&](const Known& k) { return k.stream == stream; }) ==
                  dropped);
      }
    }
    RC_ASSERT(uses.empty() == twin.empty());
    for (StreamId of = 1; of <= kStreams; ++of) {
      for (Position position = 1; position <= last[of]; ++position) {
        const bool known = std::any_of(twin.begin(), twin.end(), [&](const Known& k) {
          return k.stream == of && k.position == position;
        });
        RC_ASSERT((uses.at(of, position) != nullptr) == known);
      }
    }
    const UsedRange asked = any_range();
    Found found;
    uses.find({asked.base, asked.size}, [&](StreamId of, const Use& use, const UsedRange& range) {
      found.emplace_back(of, use.position, range.base, range.size);
    });
    std::sort(found.begin(), found.end());
    RC_ASSERT(found == found_by(twin, asked.base, asked.size));
  }
}

}  // namespace
}  // namespace cuvmm::testing
