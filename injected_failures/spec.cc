// SPDX-License-Identifier: Apache-2.0
#include "injected_failures/spec.h"

#include <algorithm>

#include "api/documented_results/documented_results.h"
#include "api/visit_call.h"

namespace cuvmm::injected_failures {

namespace {

constexpr int kEntries = static_cast<int>(EntryPoint::kCount);

constexpr bool kIntercepted[] = {
#define CUVMM_ENTRY(Name, area, ...) true,
#define CUVMM_BASE(Name, ...) false,
#include "api/entry_points.def"
};

}  // namespace

// The usual algorithm: if the rest does not match, the last star takes one more character.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, after = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool struck(double chance, std::uint64_t seed, std::uint64_t count) {
  if (chance >= 1) return true;
  // splitmix64: gives one well mixed number for each pair of seed and count.
  std::uint64_t x = seed * 0x9e3779b97f4a7c15 + count * 0xd1342543de82ef95 + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  constexpr double kOne = 9007199254740992.0;  // 2^53
  return static_cast<double>(x >> 11) / kOne < chance;
}

bool Clause::names(EntryPoint entry) const {
  const int index = static_cast<int>(entry);
  if (index >= kEntries || !kIntercepted[index]) return false;
  if (function == kEachFunction) return !gives_up(entry) && usual_failure(entry).has_value();
  return matches(function, cuvmm::name(entry));
}

bool Clause::fits(const CallFacts& facts) const {
  if (sized && (facts.size < size_low || facts.size > size_high)) return false;
  return device < 0 || facts.device == device;
}

bool Clause::strikes(std::uint64_t count) const {
  return count >= first && count <= last && struck(chance, seed, count);
}

std::optional<CUresult> Clause::answer(EntryPoint entry) const {
  if (!code) return usual_failure(entry);
  if (undocumented || is_documented(entry, *code)) return code;
  return std::nullopt;
}

std::vector<std::string> fallible_functions() {
  std::vector<std::string> names;
  for (int i = 0; i < kEntries; ++i) {
    if (kIntercepted[i]) names.emplace_back(cuvmm::name(static_cast<EntryPoint>(i)));
  }
  return names;
}

}  // namespace cuvmm::injected_failures
