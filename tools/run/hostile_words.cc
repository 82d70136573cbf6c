// SPDX-License-Identifier: Apache-2.0
#include "tools/run/hostile_words.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kLateStreams = "late-streams";
// These two exclude each other, because scattered ranges whose addresses are never used again would
// use up any address space.
constexpr const char* kNewAddresses = "new-addresses";
constexpr const char* kScatteredAddresses = "scattered-addresses";
// No seed chooses these two, because few programs behave as before under them. They are the last of
// hostile_kinds().
constexpr const char* kRefusals = "refusals";
constexpr const char* kLeftContexts = "left-contexts";
constexpr std::size_t kOnRequest = 2;

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
  return list;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

const std::vector<std::string>& hostile_kinds() {
  static const std::vector<std::string> kKinds = {
      kNewAddresses,    kScatteredAddresses, "no-hints",       "new-handles",
      "poison",         "high-descriptors",  "large-granules", kLateStreams,
      "unlike-devices", "import-addresses",  kRefusals,        kLeftContexts};
  return kKinds;
}

std::vector<std::string> kinds_of_seed(std::uint64_t seed) {
  const std::size_t count = hostile_kinds().size() - kOnRequest;
  std::mt19937_64 numbers(seed);
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& kind = hostile_kinds()[i];
    const bool excluded = kind == kScatteredAddresses && contains(kinds, kNewAddresses);
    if (numbers() % 2 == 0 && !excluded) kinds.push_back(kind);
  }
  if (kinds.empty()) kinds.push_back(hostile_kinds()[seed % count]);
  return kinds;
}

std::vector<std::string> read_kinds(const std::string& option, const std::string& text) {
  std::vector<std::string> kinds;
  std::string rest = text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string kind = rest.substr(0, comma);
    if (!contains(hostile_kinds(), kind)) {
      throw UsageError{option + ": unknown kind '" + kind + "'; expected " +
                       joined(hostile_kinds()) + did_you_mean(kind, hostile_kinds())};
    }
    kinds.push_back(kind);
    rest.erase(0, comma + 1);
  }
  return kinds;
}

std::vector<std::string> kinds_of_seed_with(std::uint64_t seed,
                                            const std::vector<std::string>& more) {
  std::vector<std::string> kinds = kinds_of_seed(seed);
  if (contains(more, kNewAddresses)) std::erase(kinds, kScatteredAddresses);
  if (contains(more, kScatteredAddresses)) std::erase(kinds, kNewAddresses);
  for (const std::string& kind : more) {
    if (!contains(kinds, kind)) kinds.push_back(kind);
  }
  return kinds;
}

std::string hostile_text(std::uint64_t seed, const std::vector<std::string>& kinds) {
  return std::to_string(seed) + ":" + joined(kinds);
}

Hostile read_hostile(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::uint64_t seed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + colon, seed);
  if (error != std::errc{} || stop != text.data() + colon) {
    throw UsageError{"--hostile " + text + ": expected a number, such as 7"};
  }
  std::vector<std::string> kinds;
  if (colon == text.size()) {
    kinds = kinds_of_seed(seed);
  } else {
    kinds = read_kinds("--hostile " + text, text.substr(colon + 1));
  }
  Hostile hostile;
  if (const auto late = std::ranges::find(kinds, kLateStreams); late != kinds.end()) {
    kinds.erase(late);
    hostile.streams = "late:" + std::to_string(seed);
  }
  hostile.emulator = hostile_text(seed, kinds);
  return hostile;
}

}  // namespace cuvmm::tools
