// SPDX-License-Identifier: Apache-2.0
// Remembers where the last search in a map of ranges ended. Programs often make several calls on
// one block, and make blocks side by side, so the next search mostly ends at the same place.
#pragma once

#include <cstdint>
#include <iterator>

namespace cuvmm {

/// `Map` is ordered by the base of its values, which have `base` and `size` and do not overlap. A
/// caller that erases an entry calls rest_at(). Not thread-safe, not even for searches.
template <class Map>
class LastPlace {
 public:
  using Place = typename Map::const_iterator;

  LastPlace() = default;
  // A place in another map means nothing here.
  LastPlace(const LastPlace&) {}
  LastPlace& operator=(const LastPlace&) {
    known_ = false;
    return *this;
  }

  /// The first range that ends after `address`, or the end.
  Place first_after(const Map& map, std::uint64_t address) {
    if (known_ && place_ != map.end() && holds(place_, address)) [[likely]]
      return place_;
    return search(map, address);
  }

  /// The next search starts at `place`. A caller that erased an entry must call this with the entry
  /// that follows it.
  void rest_at(Place place) {
    place_ = place;
    known_ = true;
  }
  void forget() { known_ = false; }

 private:
  // Finds the place where it is not the entry of the last search.
  [[gnu::hot, gnu::noinline]] Place search(const Map& map, std::uint64_t address) {
    if (known_) {
      if (answers(map, place_, address)) return place_;
      if (place_ != map.end() && answers(map, std::next(place_), address)) return ++place_;
    }
    place_ = map.upper_bound(address);
    if (place_ != map.begin()) {
      const Place before = std::prev(place_);
      if (ends_after(before, address)) place_ = before;
    }
    known_ = true;
    return place_;
  }

  static bool holds(Place place, std::uint64_t address) {
    const auto& range = place->second;
    return range.base <= address && address - range.base < range.size;
  }
  static bool ends_after(Place place, std::uint64_t address) {
    const auto& range = place->second;
    return range.base > address || address - range.base < range.size;
  }
  static bool answers(const Map& map, Place place, std::uint64_t address) {
    return (place == map.end() || ends_after(place, address)) &&
           (place == map.begin() || !ends_after(std::prev(place), address));
  }

  Place place_{};
  bool known_ = false;
};

}  // namespace cuvmm
