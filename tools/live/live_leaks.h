// SPDX-License-Identifier: Apache-2.0
// Finds memory that a living process has leaked, and objects whose number grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/holdings/reader.h"
#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// Objects of one kind that one place in the program made.
struct Grown {
  std::string what;  ///< the noun for one object: "open of IPC memory"
  std::uint32_t stack = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_call = 0, last_call = 0;
  bool grows = false;  ///< the place has made them all along, to the end
};

struct LiveLeaks {
  std::uint64_t unseen =
      0;                    ///< objects that the process could not show: there may be leaks in them
  std::uint64_t calls = 0;  ///< the number of the last call; the next look can take it as the mark
  Violations given_up;      ///< leaks by the rules for the exit (rulebook/leaks/check_exit.cc)
  std::vector<Grown> grown;  ///< objects made since the mark that still live: places that grow
                             ///< first, then the most bytes
};

/// An object of the process that the rules do not report as leaked.
struct Used {
  std::string_view what;  ///< the noun for one object: "piece of cuMemAlloc"
  std::uint64_t bytes = 0;
  Origin made;
};
/// All of these that the process shows. `model` must be model_of(now).
std::vector<Used> objects_in_use(const holdings::Snapshot& now, const Model& model);
/// Their sums by kind, like the member `in_use` of a report (docs/report.md).
Json in_use_json(const std::vector<Used>& all);

/// The model that check_exit() reads. It has only the objects of `now`.
Model model_of(const holdings::Snapshot& now);

/// Looks twice, `settle_ms` milliseconds apart, because an object that a running call works with is
/// no leak. `since` is the number of a call, the mark; objects made before it are left out.
LiveLeaks find_live_leaks(const holdings::View& view, std::uint64_t since, int settle_ms);

std::string leaks_text(const holdings::View& view, const LiveLeaks& leaks, std::uint64_t since,
                       bool marked);
Json leaks_json(const holdings::View& view, const LiveLeaks& leaks, bool marked);

}  // namespace cuvmm::tools
