// SPDX-License-Identifier: Apache-2.0
// What a process that lives has given up and still pins, and what grows in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/holdings/reader.h"
#include "rulebook/base/violation.h"
#include "rulebook/model/model.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// Objects of one kind that one place in the program made.
struct Grown {
  std::string what;  ///< "open of IPC memory"
  std::uint32_t stack = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_call = 0, last_call = 0;
};

struct LiveLeaks {
  std::uint64_t unseen =
      0;                    ///< objects that the process could not show: there may be leaks in them
  std::uint64_t calls = 0;  ///< the number to give as the next mark
  Violations given_up;      ///< by the rules of the exit (rulebook/leaks/check_exit.cc)
  std::vector<Grown> grown;  ///< made since the mark and still there, the most bytes first
};

/// All that the process holds and that the rules do not call leaked, summed by kind as the member
/// `in_use` of a report (docs/report.md). `model`: model_of(now).
Json in_use_json(const holdings::Snapshot& now, const Model& model);

/// The model that check_exit() reads; what is not shown is not in it.
Model model_of(const holdings::Snapshot& now);

/// Looks twice, `settle_ms` apart: what a call is just at work with is no leak. `since`: the number
/// of a call, the mark; what was made before it is left out.
LiveLeaks find_live_leaks(const holdings::View& view, std::uint64_t since, int settle_ms);

std::string leaks_text(const holdings::View& view, const LiveLeaks& leaks, std::uint64_t since,
                       bool marked);
Json leaks_json(const holdings::View& view, const LiveLeaks& leaks, bool marked);

}  // namespace cuvmm::tools
