// SPDX-License-Identifier: Apache-2.0
#include "emulator/hostile/hostile_driver.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace cuvmm::emulator {

namespace {

struct Word {
  std::string_view text;
  bool HostileDriver::*flag;
};
constexpr Word kHostileWords[] = {{"new-addresses", &HostileDriver::new_addresses},
                                  {"scattered-addresses", &HostileDriver::scattered_addresses},
                                  {"no-hints", &HostileDriver::ignores_hints},
                                  {"new-handles", &HostileDriver::new_handles},
                                  {"poison", &HostileDriver::poison},
                                  {"high-descriptors", &HostileDriver::high_descriptors},
                                  {"large-granules", &HostileDriver::large_granules},
                                  {"unlike-devices", &HostileDriver::unlike_devices},
                                  {"import-addresses", &HostileDriver::import_addresses},
                                  {"refusals", &HostileDriver::refusals},
                                  {"left-contexts", &HostileDriver::left_contexts}};
constexpr std::uint64_t kOneIn = 8;

// splitmix64
std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed + number * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t HostileDriver::draw() { return mixed(seed, ++drawn_); }

bool HostileDriver::refuse() {
  if (!refusals) return false;
  refused_ = draw() % kOneIn == 0 && !refused_;
  return refused_;
}

bool HostileDriver::leaves_context() { return left_contexts && draw() % kOneIn == 0; }

void HostileDriver::imported() {
  if (import_addresses) place_ = draw();
}

std::uint64_t HostileDriver::begin_of_ranges(std::uint64_t room) const {
  return place_ == 0 ? 0 : place_ % room;
}

std::uint64_t HostileDriver::memory_of(int device, std::uint64_t usual) const {
  constexpr std::uint64_t kStep = std::uint64_t{64} << 20, kParts = 8, kLeast = 2;
  if (!unlike_devices || usual < kParts * kStep) return usual;
  // A quarter of the memory to all of it. The device's number is mixed with another seed than
  // draw() uses.
  const std::uint64_t parts =
      kLeast + mixed(~seed, static_cast<std::uint64_t>(device)) % (kParts - kLeast + 1);
  return usual / kParts * parts / kStep * kStep;
}

bool HostileDriver::peers(int a, int b) const {
  constexpr int kMost = 64;
  if (!unlike_devices || a == b) return true;
  const auto pair = static_cast<std::uint64_t>(std::min(a, b) * kMost + std::max(a, b));
  return mixed(~seed, ~pair) % 2 == 0;
}

std::optional<HostileDriver> parse_hostile_driver(std::string_view text) {
  HostileDriver chosen;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const char* const end = text.data() + colon;
  const auto [stop, error] = std::from_chars(text.data(), end, chosen.seed);
  if (error != std::errc{} || stop != end) return std::nullopt;
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto* const word = std::ranges::find(kHostileWords, rest.substr(0, comma), &Word::text);
    if (word == std::end(kHostileWords)) return std::nullopt;
    chosen.*word->flag = true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return chosen;
}

HostileDriver& hostile_driver() {
  static HostileDriver driver = [] {
    const char* const text = ::secure_getenv("CUVMM_HOSTILE");
    return parse_hostile_driver(text ? text : "").value_or(HostileDriver{});
  }();
  return driver;
}

std::string hostile_driver_error() {
  const char* const text = ::secure_getenv("CUVMM_HOSTILE");
  if (!text || !*text || parse_hostile_driver(text)) return {};
  std::string words;
  for (const Word& word : kHostileWords)
    words += (words.empty() ? "" : ", ") + std::string(word.text);
  return "CUVMM_HOSTILE=" + std::string(text) + ": expected a number, and after a colon some of " +
         words;
}

void fill_with_poison(char* bytes, std::uint64_t size, std::uint64_t seed) {
  // No byte is 0, because many programs expect zeroes.
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(0x80 | ((seed + i) * 0x9d & 0x7f));
  }
}

}  // namespace cuvmm::emulator
