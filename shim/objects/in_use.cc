// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/in_use.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/words.h"
#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "recorder/holdings/counted.h"
#include "recorder/holdings/in_use_text.h"
#include "recorder/holdings/words.h"
#include "rulebook/check/check_support.h"
#include "shim/modules/module_map.h"
#include "shim/objects/alive.h"
#include "shim/objects/object_table.h"
#include "shim/output/json.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

using cuvmm::detail::ref;

constexpr const char* kArrayWords = "array";
constexpr const char* kMipmappedWords = "mipmapped array";
constexpr const char* kPoolWords = "pool";
constexpr const char* kImportedPieceWords = "imported piece of pool memory";

holdings::Piece::Kind piece_kind(PlainMemory::Kind kind) {
  using From = PlainMemory::Kind;
  using To = holdings::Piece::Kind;
  switch (kind) {
    case From::kManaged:
      return To::kManaged;
    case From::kHost:
      return To::kHost;
    case From::kRegistered:
      return To::kRegistered;
    default:
      return To::kDevice;
  }
}

// Whether the process has unmapped the pages. Looks only at both ends, because no program unmaps
// only the middle.
bool unmapped(std::uint64_t base, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto is_unmapped = [page](std::uint64_t at) {
    unsigned char unused = 0;
    const std::uint64_t begin = at & ~(page - 1);
    return ::mincore(reinterpret_cast<void*>(begin), page, &unused) != 0 && errno == ENOMEM;
  };
  return size != 0 && (is_unmapped(base) || is_unmapped(base + size - 1));
}

// Sums up objects by kind and maker.
class Places {
 public:
  explicit Places(const Model& model) : model_(model) {}
  /// `outlived`: the call that ended the context of the object; call 0: none.
  void add(const char* what, const ObjectRef& object, const Origin& outlived = {}) {
    // Objects from before the first call that the session saw have no known maker.
    if (object.made.call == 0) return;
    InUse& one = all_[{what, object.made.stack, outlived.call != 0}];
    if (one.count++ == 0 || object.made.call < one.first.made.call) {
      one.first = object;
      one.outlived = outlived;
    }
    one.what = what;
    one.bytes += object.size;
    one.some_ended = model_.tombstones().any_made_by(object.made.stack);
  }
  AllInUse take() const {
    AllInUse list;
    for (const auto& [key, one] : all_) list.push_back(one);
    return list;
  }

 private:
  const Model& model_;
  std::map<std::tuple<std::string_view, StackId, bool>, InUse> all_;
};

void add_vmm(Places& places, const Model& model, const StillRunning& running) {
  const auto add_allocation = [&](const Allocation& a) {
    const bool by_mapping = a.references == 0 && a.mappings == 0;
    if (!by_mapping) places.add(holdings::words(holdings::MemoryHeld{a, 0}), ref(a));
  };
  const auto add_reservation = [&](const Reservation& r) {
    places.add(
        model.holds_mapping(r) ? holdings::kReservationWords : holdings::kEmptyReservationWords,
        ref(r));
  };
  each_alive(model, running, add_allocation, add_reservation);
}

void add_pools(Places& places, const Model& model, const StillRunning& running) {
  const PoolState& state = model.pools();
  for (const auto& [base, m] : state.memory()) {
    const bool leak = m.pool_has_ended() && !m.imported && !running.works_with(m.made);
    if (leak) continue;
    places.add(m.imported ? kImportedPieceWords : holdings::words(holdings::Piece::Kind::kPool),
               ref(m), m.outlived);
  }
  for (const auto& [handle, pool] : state.pools()) {
    const bool current = std::any_of(state.current().begin(), state.current().end(),
                                     [&, h = handle](const auto& set) { return set.second == h; });
    const bool empty = !current && state.taken_from(handle) == 0;
    const bool leak = empty && !running.works_with(pool.made);
    if (!leak && !pool.is_default && !pool.foreign) places.add(kPoolWords, ref(pool));
  }
}

// Parts of the names of the runtime's functions by which a program makes such an object; empty if
// the runtime has none.
using Parts = std::span<const std::string_view>;
Parts makers_of(std::string_view what) {
  using O = PlainObject::Kind;
  static constexpr std::string_view kMemory[] = {"alloc", "Alloc", "Register"};
  static constexpr std::string_view kStream[] = {"StreamCreate"}, kEvent[] = {"EventCreate"},
                                    kContext[] = {"Ctx"}, kLibrary[] = {"LibraryLoad"},
                                    kGraph[] = {"GraphCreate", "GraphClone", "EndCapture"},
                                    kExecutable[] = {"Instantiate"}, kPool[] = {"PoolCreate"},
                                    kLaunch[] = {"GraphLaunch"}, kTexture[] = {"TextureObject"},
                                    kSurface[] = {"SurfaceObject"}, kUser[] = {"UserObject"};
  const auto is = [&](O kind) { return what == words(kind); };
  if (is(O::kStream)) return kStream;
  if (is(O::kEvent)) return kEvent;
  if (is(O::kLibrary)) return kLibrary;
  if (is(O::kGraph)) return kGraph;
  if (is(O::kExecutableGraph)) return kExecutable;
  if (is(O::kGreenContext)) return kContext;
  if (is(O::kTexture)) return kTexture;
  if (is(O::kSurface)) return kSurface;
  if (is(O::kUserObject)) return kUser;
  if (is(O::kModule) || is(O::kRetain) || is(O::kContext)) return {};
  if (what == holdings::kGraphMemoryWords) return kLaunch;
  return what == kPoolWords ? Parts(kPool) : Parts(kMemory);
}

// Whether a static runtime makes such objects by itself at the first call: only symbols show that
// the runtime made them.
bool needs_symbols(std::string_view what) {
  using O = PlainObject::Kind;
  return what == words(O::kModule) || what == words(O::kLibrary) || what == words(O::kRetain);
}

bool names_one_of(std::string_view function, Parts parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return function.find(part) != function.npos; });
}

class Runtimes {
 public:
  bool made_for_itself(const char* what, StackId stack) const {
    const std::span<const std::uintptr_t> frames = stack_frames(stack);
    // Symbols are read only if no shared libcudart is on the stack, because they take milliseconds.
    const bool shared = !frames.empty() && in_runtime(frames.front());
    if (needs_symbols(what) && !shared) return by_symbols(what, stack);
    std::size_t inside = 0;
    while (inside < frames.size() && in_runtime(frames[inside])) ++inside;
    if (inside == 0) return false;
    // The stack is that of the runtime's own thread, or is cut off.
    if (inside == frames.size()) return true;
    if (t_state.care == Care::kAsInterrupted) return false;
    Dl_info info;
    const auto* const entered = reinterpret_cast<const void*>(frames[inside - 1] - 1);
    if (!::dladdr(entered, &info) || !info.dli_sname) return false;
    return !names_one_of(info.dli_sname, makers_of(what));
  }

 private:
  bool in_runtime(std::uintptr_t address) const {
    return frames::file_name(map_.find(address - 1).path).starts_with("libcudart");
  }
  static bool by_symbols(const char* what, StackId stack) {
    prepare_symbolizer();
    std::vector<Frame> frames = symbolize(stack);
    if (frames.empty()) return true;
    if (!frames::of_cuda_runtime(frames.front())) return frames.front().function.empty();
    return !names_one_of(frames::take_runtime_frames(frames), makers_of(what));
  }

  const ModuleMap map_ = ModuleMap::of_this_process();
};

// ", at fill() at cache.cc:41"; "" without a stack.
std::string at_place(StackId stack) {
  std::vector<Frame> frames = symbolize(stack);
  frames::take_runtime_frames(frames);
  const std::string place = frames::place_text(frames);
  return place.empty() ? place : ", at " + place;
}

// "call 7 (cudaDeviceReset) ended its context at main() at app.cc:9, ..."
std::string outlived_text(const InUse& one) {
  std::vector<Frame> frames = symbolize(one.outlived.stack);
  const std::string runtime = frames::take_runtime_frames(frames);
  const std::string function = runtime.empty() ? stack_function(one.outlived.stack) : runtime;
  const bool graph = std::string_view(one.what) == holdings::kGraphMemoryWords;
  return "call " + std::to_string(one.outlived.call) +
         (function.empty() ? "" : " (" + function + ")") + " ended the device's primary context" +
         at_place(one.outlived.stack) + ", which frees no memory of " +
         (graph ? "graphs" : "pools");
}

// Adds the program's retains of each device's primary context that it has not released. A single
// retain is not reported, because many programs use a context to their end.
void add_retains(AllInUse& all, const ObjectTable::All& table) {
  // The runtime releases no more than it retains: so if no retain is left with the runtime's
  // included, the program has left none. So most programs need no symbols here.
  std::map<int, std::int64_t> with_the_runtimes;
  for (const auto& one : table.retained) {
    with_the_runtimes[one.device] += static_cast<std::int64_t>(one.count);
  }
  for (const auto& one : table.released) {
    with_the_runtimes[one.device] -= static_cast<std::int64_t>(one.count);
  }
  const Runtimes runtimes;
  const char* const what = words(PlainObject::Kind::kRetain);
  const auto own = [&](const ObjectTable::Retains& one) {
    return with_the_runtimes[one.device] >= 2 && !runtimes.made_for_itself(what, one.stack);
  };
  std::map<int, std::int64_t> left;
  for (const auto& one : table.retained) {
    if (own(one)) left[one.device] += static_cast<std::int64_t>(one.count);
  }
  for (const auto& one : table.released) {
    if (own(one)) left[one.device] -= static_cast<std::int64_t>(one.count);
  }
  std::erase_if(left, [](const auto& device) { return device.second < 2; });
  // The shim does not know which retains were released: the last ones count as those that are left.
  for (auto one = table.retained.rbegin(); one != table.retained.rend(); ++one) {
    const auto device = left.find(one->device);
    if (device == left.end() || device->second == 0 || !own(*one)) continue;
    const std::int64_t count = std::min(device->second, static_cast<std::int64_t>(one->count));
    device->second -= count;
    ObjectRef first{.kind = ObjectRef::Kind::kContext, .made = {.stack = one->stack}, .ended = {}};
    all.push_back({what, static_cast<std::uint64_t>(count), 0, first, true});
  }
}

std::vector<holdings::Sum> sums_of(const AllInUse& all) {
  std::vector<holdings::Sum> sums;
  std::vector<StackId> places;
  for (const InUse& one : all) {
    if (one.is_leak) continue;
    const auto same = std::ranges::find_if(sums, [&](const auto& s) { return s.what == one.what; });
    const auto at = static_cast<std::size_t>(same - sums.begin());
    if (same == sums.end()) {
      sums.push_back({one.what});
      places.push_back(0);
    }
    holdings::Sum& sum = sums[at];
    sum.count += one.count;
    sum.bytes += one.bytes;
    if (one.count <= sum.made_there) continue;
    sum.made_there = one.count;
    places[at] = one.first.made.stack;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!holdings::grows(sums[i].what, sums[i].made_there, sums[i].count)) continue;
    if (t_state.care != Care::kAsInterrupted) prepare_symbolizer();
    std::vector<Frame> frames = symbolize(places[i]);
    frames::take_runtime_frames(frames);
    sums[i].made_at = frames::place_text(frames);
  }
  std::ranges::stable_sort(sums, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sums;
}

}  // namespace

std::vector<Violation> leaks_on_request(AllInUse& in_use, AllInUse& ended_with_context) {
  std::vector<Violation> leaks;
  const auto add = [&](InUse& one, Rule rule, const std::string& amount, const std::string& rest) {
    one.is_leak = true;
    const std::string size = one.bytes != 0 ? " (" + size_text(one.bytes) + ")" : "";
    leaks.push_back({.rule = rule,
                     .message = amount + counted(one.count, one.what) + size + rest,
                     .objects = {one.first},
                     .count = one.count,
                     .fix = one.fix});
  };
  for (InUse& one : ended_with_context) {
    if (std::string_view(one.what) == holdings::words(holdings::Piece::Kind::kRegistered)) {
      one.fix =
          "Call cuMemHostUnregister (cudaHostUnregister) before the call that ends the context.";
      add(one, Rule::kContextMemoryLeft, "",
          one.count == 1 ? " was not unregistered by the program before its context ended"
                         : " were not unregistered by the program before their context ended");
      continue;
    }
    add(one, Rule::kContextMemoryLeft, "",
        one.count == 1 ? " was never freed by the program, and ended with its context"
                       : " were never freed by the program, and ended with their context");
  }
  for (InUse& one : in_use) {
    if (one.outlived.call != 0) {
      prepare_symbolizer();
      if (one.fix.empty()) {
        one.fix =
            "Free the memory (cuMemFreeAsync, cuMemFree; cudaFreeAsync, cudaFree) before the call "
            "that ends the context.";
      }
      add(one, Rule::kContextMemoryLeft, "",
          std::string(one.count == 1 ? " was" : " were") + " never freed by the program, and " +
              (one.count == 1 ? "stays" : "stay") + " allocated: " + outlived_text(one) +
              (one.about.empty() ? "" : "; " + one.about));
      continue;
    }
    // Without a stack nobody knows whether one place made them.
    const bool one_place = one.first.made.stack != 0 && !one.some_ended;
    if (!one_place || !holdings::grows(one.what, one.count, one.count)) continue;
    const std::string_view end = holdings::ender(one.what);
    add(one, Rule::kPlaceLeft, std::to_string(one.count) + " of ",
        " that one place made " + std::string(one.count == 1 ? "has" : "have") + " never ended" +
            (end.empty() ? "" : ": no " + std::string(end) + " came") +
            (one.about.empty() ? "" : "; " + one.about));
  }
  return leaks;
}

AllInUse memory_in_use(const Model& model, const StillRunning& running) {
  Places places(model);
  add_vmm(places, model, running);
  add_pools(places, model, running);
  for (const auto& [base, m] : model.memory().all()) {
    const bool is_unmapped = m.kind == PlainMemory::Kind::kRegistered && unmapped(base, m.size);
    places.add(is_unmapped ? holdings::kUnmappedWords : holdings::words(piece_kind(m.kind)),
               ref(m));
  }
  for (const auto& [handle, array] : model.arrays().all()) {
    const bool own = array.parent == 0 && array.external == 0;
    if (own) places.add(array.mipmapped ? kMipmappedWords : kArrayWords, ref(array));
  }
  return places.take();
}

AllInUse ended_with_context(const Model& model) {
  AllInUse all;
  for (const auto& [key, one] : model.memory().ended_with_context()) {
    const auto is_unmapped = model.tombstones().find(ObjectRef::Kind::kMemory, one.base);
    const bool same = is_unmapped && is_unmapped->made.call == one.first.call;
    const ObjectRef first{
        .kind = ObjectRef::Kind::kMemory, .value = one.base, .made = one.first, .ended = {}};
    all.push_back(
        {holdings::words(piece_kind(key.first)), one.count, one.size, same ? *is_unmapped : first});
  }
  return all;
}

void add_objects(AllInUse& all, std::chrono::milliseconds limit) {
  const auto table = object_table().all(limit);
  if (!table) return;
  std::map<std::pair<PlainObject::Kind, StackId>, InUse> places;
  for (const PlainObject& object : table->objects) {
    InUse& place = places[{object.kind, object.made}];
    if (place.count++ != 0) continue;
    place.what = words(object.kind);
    place.first = {.kind = object_kind(object.kind),
                   .value = object.value,
                   .made = {.stack = object.made},
                   .ended = {}};
    place.some_ended = object_table().any_made_by(object.made);
  }
  for (const auto& [key, place] : places) all.push_back(place);
  add_retains(all, *table);
}

void leave_out_registered(AllInUse& ended_with_context) {
  std::erase_if(ended_with_context, [](const InUse& one) {
    return std::string_view(one.what) == holdings::words(holdings::Piece::Kind::kRegistered);
  });
}

void leave_out_the_runtimes(AllInUse& all) {
  const Runtimes runtimes;
  std::erase_if(all, [&](const InUse& one) {
    return runtimes.made_for_itself(one.what, one.first.made.stack);
  });
}

std::string sums_text(const AllInUse& all) {
  std::string text;
  for (const holdings::Sum& sum : sums_of(all)) text += (text.empty() ? "" : ", ") + sum_text(sum);
  return text;
}

std::string sums_json(const AllInUse& all) {
  std::string text;
  for (const holdings::Sum& sum : sums_of(all)) {
    text += text.empty() ? "[" : ",";
    text += "{\"what\":" + json_string(sum.what) + ",\"count\":" + std::to_string(sum.count) +
            ",\"bytes\":" + std::to_string(sum.bytes);
    if (!sum.made_at.empty()) {
      text += ",\"made_at\":" + json_string(sum.made_at) +
              ",\"made_there\":" + std::to_string(sum.made_there);
    }
    text += '}';
  }
  return text.empty() ? text : text + "]";
}

std::string places_text(AllInUse all, const char* state) {
  std::ranges::stable_sort(all, [](const InUse& a, const InUse& b) {
    return std::pair(a.bytes, a.count) > std::pair(b.bytes, b.count);
  });
  std::string text;
  for (const InUse& one : all) {
    if (one.is_leak) continue;
    text += std::string("cuvmm: ") + state + ": " + counted(one.count, one.what);
    if (one.bytes != 0) text += " (" + size_text(one.bytes) + ")";
    std::vector<Frame> frames = symbolize(one.first.made.stack);
    const std::string runtime = frames::take_runtime_frames(frames);
    const std::string function = runtime.empty() ? stack_function(one.first.made.stack) : runtime;
    if (const std::string by = by_text(one.first.made.call, function); !by.empty())
      text += (one.count > 1 ? ", the first made" : ", made") + by;
    text += '\n' + stack_text(frames, "      ");
    if (!one.about.empty()) text += "      " + one.about + at_place(one.about_stack) + '\n';
    if (one.outlived.call != 0) text += "      " + outlived_text(one) + '\n';
    const std::string fix =
        one.fix.empty() ? holdings::giving_back(one.what, one.count, !runtime.empty()) : one.fix;
    text += "      fix: " + fix + '\n';
  }
  return text;
}

}  // namespace cuvmm::shim
