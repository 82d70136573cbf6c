// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/in_use_list.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "api/words.h"
#include "frames/stack_text.h"
#include "recorder/holdings/counted.h"
#include "recorder/holdings/in_use_text.h"

namespace cuvmm::tools {

namespace {

struct Place {
  std::string_view what;
  std::uint32_t stack = 0;
  std::uint64_t count = 0, bytes = 0, first_call = 0;
};

std::vector<Place> places_of(const std::vector<Used>& all) {
  std::map<std::pair<std::string_view, std::uint32_t>, Place> places;
  for (const Used& one : all) {
    Place& place = places[{one.what, one.made.stack}];
    place.what = one.what;
    place.stack = one.made.stack;
    place.bytes += one.bytes;
    if (place.count++ == 0 || one.made.call < place.first_call) place.first_call = one.made.call;
  }
  std::vector<Place> list;
  for (const auto& [key, place] : places) list.push_back(place);
  std::ranges::stable_sort(list, [](const Place& a, const Place& b) {
    return std::pair(a.bytes, a.count) > std::pair(b.bytes, b.count);
  });
  return list;
}

}  // namespace

std::string in_use_list(const std::vector<Used>& all,
                        const std::function<PlaceOf(std::uint32_t stack)>& place_of) {
  std::string text;
  for (const Place& place : places_of(all)) {
    const PlaceOf made = place_of(place.stack);
    text += std::string("cuvmm: ") + holdings::kInUse + ": " + counted(place.count, place.what);
    if (place.bytes != 0) text += " (" + size_text(place.bytes) + ")";
    if (const std::string by = by_text(place.first_call, made.function); !by.empty())
      text += (place.count > 1 ? ", the first made" : ", made") + by;
    const bool by_runtime = made.function.starts_with("cuda");
    text += '\n' + frames::stack_text(made.frames, "      ") +
            "      fix: " + holdings::giving_back(place.what, place.count, by_runtime) + '\n';
  }
  return text;
}

}  // namespace cuvmm::tools
