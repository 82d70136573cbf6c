// SPDX-License-Identifier: Apache-2.0
// Address space that a program no longer uses and does not free.
#include <algorithm>

#include "rulebook/check/check.h"

namespace cuvmm {

namespace {

// So many reservations, each made after the one before was empty, show that the program uses none
// of them again. A program that takes two buffers in turn has only two.
constexpr int kEnough = 3;

// The length of the longest sequence of reservations of which each was made after the one before
// had been emptied.
int longest_row(std::vector<const Reservation*> reservations) {
  std::sort(reservations.begin(), reservations.end(),
            [](const auto* a, const auto* b) { return a->unmapped.call < b->unmapped.call; });
  int row = 0;
  std::uint64_t emptied = 0;
  for (const Reservation* r : reservations) {
    if (row != 0 && r->made.call <= emptied) continue;
    ++row;
    emptied = r->unmapped.call;
  }
  return row;
}

struct Site {
  std::vector<const Reservation*> empty;
  bool comes_back = false;
};

}  // namespace

std::vector<Abandoned> abandoned_reservations(const Model& model, const StillRunning& running) {
  std::vector<Abandoned> all;
  std::map<std::uint32_t, Site> sites;
  for (const auto& [base, r] : model.reservations()) {
    if (r.free_refused.call != 0) {
      if (!model.holds_mapping(r) && !running.works_with(r.free_refused)) {
        all.push_back({.reservations = {&r}, .free_failed = true});
      }
      continue;
    }
    if (!r.mapped) continue;
    Site& site = sites[r.made.stack];
    site.comes_back = site.comes_back || r.reused;
    if (r.unmapped.call == 0 || model.holds_mapping(r)) continue;
    if (running.works_with(r.made) || running.works_with(r.unmapped)) continue;
    site.empty.push_back(&r);
  }
  for (auto& [stack, site] : sites) {
    if (site.comes_back || longest_row(site.empty) < kEnough) continue;
    std::sort(site.empty.begin(), site.empty.end(),
              [](const auto* a, const auto* b) { return a->made.call < b->made.call; });
    all.push_back({.reservations = std::move(site.empty), .free_failed = false});
  }
  return all;
}

}  // namespace cuvmm
