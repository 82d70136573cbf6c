// SPDX-License-Identifier: Apache-2.0
// What a process has not given back when it ends, and what is no leak: counted for everybody, and
// listed for who asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rulebook/check/check.h"
#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Things of one kind that one place in the program made.
struct InUse {
  const char* what = "";  ///< one of them, for counted(): "piece of cuMemAlloc"
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< 0: they have no size
  Origin first;             ///< who made the first of them; its call is 0 where that has no number
};
using AllInUse = std::vector<InUse>;

/// All of the model that check_exit() does not name. What threads that run work with counts as in
/// use.
AllInUse memory_in_use(const Model& model, const StillRunning& running);
/// Memory that the program never freed, and that ended with its context.
AllInUse ended_with_context(const Model& model);
/// Adds plain objects; nothing where the table cannot be looked at.
void add_objects(AllInUse& all, std::chrono::milliseconds limit);

/// Leaves out what a CUDA runtime made for itself, as far as stacks tell. Takes the loader's lock,
/// unless the thread is careful as if interrupted.
void leave_out_the_runtimes(AllInUse& all);

/// "3 pieces of cuMemAlloc (48 MiB), 2 streams"; "" for none. Of many from one place it is said
/// which: symbols are read then, as symbolize() reads them.
std::string sums_text(const AllInUse& all);
/// [{"what":"piece of cuMemAlloc","count":3,"bytes":50331648}]; "" for none. With a place:
/// "made_at" and "made_there".
std::string sums_json(const AllInUse& all);
/// A line for each place, with its stack; `state`: "still in use", say.
std::string places_text(AllInUse all, const char* state);

}  // namespace cuvmm::shim
