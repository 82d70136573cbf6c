// SPDX-License-Identifier: Apache-2.0
// Objects that a process has not given back when it ends, and that are no leaks: always counted,
// and listed on request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rulebook/check/check.h"
#include "rulebook/model/model.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

/// Objects of one kind that one place in the program made.
struct InUse {
  const char* what = "";  ///< the words for one object, for counted(): "piece of cuMemAlloc"
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< 0: these objects have no size
  ObjectRef first = {};     ///< the first of them; made.call is 0 if the call has no number
  bool some_ended = false;  ///< whether an object that this place made has ended
  bool is_leak = false;     ///< a finding names them
  /// Facts about the first object, as sentences, and the stack of the call that the facts end with.
  std::string about = {};
  StackId about_stack = 0;
  /// The call that ended the context of the first object, which is still allocated; call 0: none.
  Origin outlived = {};
  std::string fix = {};  ///< "" if the function that ends such an object is the fix
};
using AllInUse = std::vector<InUse>;

/// All of the model that check_exit() does not name. Objects that running threads work with count
/// as in use.
AllInUse memory_in_use(const Model& model, const StillRunning& running);
/// Memory that the program never freed, and that ended with its context; and registered memory,
/// which is the program's own, that was not unregistered before.
AllInUse ended_with_context(const Model& model);
/// Adds plain objects; adds none if the table's lock is not free within `limit`.
void add_objects(AllInUse& all, std::chrono::milliseconds limit);

/// Removes registered memory: no call freed it.
void leave_out_registered(AllInUse& ended_with_context);
/// Removes the objects that a CUDA runtime made for itself, as far as stacks show it. Takes the
/// loader's lock, unless the thread has Care::kAsInterrupted.
void leave_out_the_runtimes(AllInUse& all);

/// "3 pieces of cuMemAlloc (48 MiB), 2 streams"; "" if there are none. If one place made many of
/// them, the text names the place: then symbols are read, as symbolize() reads them.
std::string sums_text(const AllInUse& all);
/// [{"what":"piece of cuMemAlloc","count":3,"bytes":50331648}]; "" if there are none. With a place
/// it has two more members: "made_at" and "made_there".
std::string sums_json(const AllInUse& all);
/// The leaks that only --leak-check=full counts: memory that only the end of a context freed, and
/// objects of places that made many and ended none. Marks them in the lists.
std::vector<Violation> leaks_on_request(AllInUse& in_use, AllInUse& ended_with_context);
/// A line for each place, with its stack; `state` is for example "still in use".
std::string places_text(AllInUse all, const char* state);

}  // namespace cuvmm::shim
