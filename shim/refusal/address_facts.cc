// SPDX-License-Identifier: Apache-2.0
#include "shim/refusal/address_facts.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;

std::uint64_t hex(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::uint64_t largest_free_range(std::string_view maps) {
  std::uint64_t largest = 0, last = 0;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::uint64_t begin = hex(line);
    if (line.starts_with('-')) line.remove_prefix(1);
    const std::uint64_t end = hex(line);
    if (end <= begin) continue;
    if (std::min(begin, kEnd) > last) largest = std::max(largest, std::min(begin, kEnd) - last);
    last = std::max(last, end);
  }
  return last < kEnd ? std::max(largest, kEnd - last) : largest;
}

AddressFacts address_facts(const Model& model) {
  AddressFacts facts;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.limit = limit.rlim_cur;
  }
  for (const auto& [base, reservation] : model.reservations()) facts.reserved += reservation.size;
  facts.reservations = model.reservations().size();
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  facts.largest_free = largest_free_range(maps);
  return facts;
}

}  // namespace cuvmm::shim
