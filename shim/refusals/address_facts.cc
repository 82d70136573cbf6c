// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/address_facts.h"

#include <sys/resource.h>

#include <algorithm>

#include "shim/modules/proc_maps.h"

namespace cuvmm::shim {

namespace {

constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;

}  // namespace

std::uint64_t largest_free_range(std::string_view maps) {
  std::uint64_t largest = 0, last = 0;
  while (const auto mapping = next_mapping(maps)) {
    const std::uint64_t low = std::min(mapping->low, kEnd);
    if (low > last) largest = std::max(largest, low - last);
    last = std::max(last, mapping->high);
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
  facts.largest_free = largest_free_range(read_proc_maps());
  return facts;
}

}  // namespace cuvmm::shim
