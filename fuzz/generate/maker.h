// SPDX-License-Identifier: Apache-2.0
// Makes calls one at a time that fit the objects that the program has made so far.
#pragma once

#include <optional>

#include "fuzz/generate/sketch.h"
#include "fuzz/generate/style.h"

namespace cuvmm::fuzz {

/// Op::value for a POSIX file descriptor.
inline constexpr std::uint8_t kPosix = 1;

template <class T>
const T& pick(const std::vector<T>& from, Random& random) {
  return from[random.below(static_cast<std::uint32_t>(from.size()))];
}

constexpr std::uint8_t byte(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

class Maker {
 public:
  Maker(Random& random, const Style& style) : random_(random), style_(style) {}

  Op make(Sketch& now);

 private:
  // Choose the next call.
  Code choose(const Sketch& now);
  Code hand_over(const Sketch& now);
  Code hand_over_plain(const Sketch& now);
  Code share_pool(const Sketch& now);
  Code next_of_endpoint(const Sketch& now);
  Code next_further(const Sketch& now);
  Code next_of_capture(const Sketch& now);
  Code touch();  ///< a copy or a fill

  // Choose the arguments of a call, by area; false where no object fits.
  bool fill(Op& op, const Sketch& now);
  bool virtual_memory(Op& op, const Sketch& now);
  bool data(Op& op, const Sketch& now, bool second);
  bool external(Op& op, const Sketch& now);
  bool multicast(Op& op, const Sketch& now);
  bool pooled(Op& op, const Sketch& now);
  bool legacy(Op& op, const Sketch& now);
  bool endpoint(Op& op, const Sketch& now);
  bool further(Op& op, const Sketch& now);
  bool capture(Op& op, const Sketch& now);

  // Choose the arguments of one call, or of a few similar ones.
  bool free_reservation(Op& op, const Sketch& now);
  void create(Op& op, const Sketch& now);
  bool export_memory(Op& op, const Sketch& now);
  bool take_descriptor(Op& op, const Sketch& now);  ///< a descriptor to import from, or to close
  bool map(Op& op, const Sketch& now);
  /// Chooses a mapping, and perhaps its neighbours; returns the first.
  std::optional<Sketch::Piece> mapped_run(Op& op, const Sketch& now);
  bool give_access(Op& op, const Sketch& now);
  bool ask_about_mapping(Op& op, const Sketch& now);
  bool free_plain(Op& op, const Sketch& now);
  /// A multicast object; with `complete`, all devices were added to it, else some are missing.
  bool team(std::uint8_t& ref, const Sketch& now, bool complete);
  bool bind(Op& op, const Sketch& now);
  /// A reserved id without an endpoint.
  bool free_id(Op& op, const Sketch& now);
  /// Chooses an endpoint that fits; null where none does.
  template <class Fits>
  const Sketch::Endpoint* endpoint_that(Op& op, const Sketch& now, Fits fits);
  bool create_endpoint(Op& op);
  bool bind_endpoint(Op& op, const Sketch& now);
  bool unbind_endpoint(Op& op, const Sketch& now);
  bool fabric_copy(Op& op, const Sketch& now);
  bool ask_pool(Op& op, const Sketch& now);
  bool write_words(Op& op, const Sketch& now);
  bool place_pool(Op& op, const Sketch& now);
  bool any_memory(Op& op, const Sketch& now);
  bool array(Op& op, const Sketch& now);
  bool touch_array(Op& op, const Sketch& now);
  bool tiled(Op& op, const Sketch& now);
  bool map_tiles(Op& op, const Sketch& now);
  /// A stream of the actor's device; `capturing` 0 or 1: only one that does not capture, or does.
  bool stream(std::uint8_t& ref, const Op& op, const Sketch& now, int capturing);
  bool join(Op& op, const Sketch& now);
  /// Whether the program should not make this call, because it would lose its capture.
  bool loses_capture(Code code, const Sketch& now);
  bool reference(std::uint8_t& ref, const Sketch& now);
  /// Sets `ref` to the name of an object in the list that fits; false when none does.
  template <class List, class Fits>
  bool any(const List& list, std::uint8_t& ref, Fits fits);
  std::uint8_t device() { return byte(random_.below(static_cast<std::uint32_t>(style_.devices))); }

  /// Changes one or two fields, as a careless program would.
  void spoil(Op& op, const Sketch& now);

  Random& random_;
  const Style& style_;
};

template <class List, class Fits>
bool Maker::any(const List& list, std::uint8_t& ref, Fits fits) {
  std::vector<std::uint8_t> names;
  for (const auto& each : list) {
    if (fits(each)) names.push_back(each.name);
  }
  if (!names.empty()) ref = pick(names, random_);
  return !names.empty();
}

}  // namespace cuvmm::fuzz
