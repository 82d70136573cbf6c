// SPDX-License-Identifier: Apache-2.0
#include "tools/live/live_leaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "api/words.h"
#include "recorder/holdings/counted.h"
#include "recorder/holdings/words.h"
#include "rulebook/check/check.h"
#include "tools/live/process_view.h"
#include "tools/live/sharing/open_files.h"

namespace cuvmm::tools {

namespace {

// The process whose descriptors open_there() asks for; check_exit() takes a plain function.
thread_local int t_pid = 0;
bool open_there(const Export& exported) {
  // The program may use the number again for another file. Memory is behind a device file, or a
  // file of the emulator.
  const std::string link = link_of(t_pid, exported.fd);
  return link.starts_with("/dev/nvidia") || link.starts_with("/memfd:") ||
         link.starts_with("/dmabuf:") || link.starts_with("anon_inode:");
}

using Which = std::tuple<Rule, std::uint64_t, std::uint64_t>;
Which which(const Violation& v) {
  return v.objects.empty() ? Which{v.rule, 0, 0}
                           : Which{v.rule, v.objects.front().value, v.objects.front().made.call};
}

// Whether a place has made its objects all along, and not only at the start, as a place that loads
// weights does: at least eight objects are left, and three quarters of the calls since the first of
// them, the last quarter included, have left some. `now` is the process's last call. A cache that
// replaces its objects has only young ones, so the first must be from the first half of all calls.
bool made_all_along(const std::vector<std::uint64_t>& calls, std::uint64_t now) {
  if (calls.size() < 8) return false;
  const std::uint64_t first = *std::ranges::min_element(calls);
  const std::uint64_t span = now - std::min(first, now);
  if (span < 4 || span < now / 2) return false;
  bool quarters[4] = {};
  for (const std::uint64_t call : calls) {
    quarters[std::min<std::uint64_t>((call - first) / (span / 4 + 1), 3)] = true;
  }
  return quarters[3] && std::ranges::count(quarters, true) >= 3;
}

class Growing {
 public:
  Growing(const holdings::View& view, std::uint64_t since, std::uint64_t now)
      : view_(view), since_(since), now_(now) {}
  void add(const char* what, const Origin& made, std::uint64_t bytes) {
    if (made.call <= since_) return;
    // One place may have several stacks: in other ranges of NVTX, or by two calls on one line of
    // Python.
    auto& [grown, calls] = all_[{what, view_.stack(made.stack), lines_of(made.stack)}];
    calls.push_back(made.call);
    grown.what = what;
    grown.stack = made.stack;
    if (grown.count++ == 0 || made.call < grown.first_call) grown.first_call = made.call;
    grown.last_call = std::max(grown.last_call, made.call);
    grown.bytes += bytes;
  }
  std::vector<Grown> take() {
    std::vector<Grown> list;
    for (auto& [key, place] : all_) {
      place.grown.grows = made_all_along(place.calls, now_);
      list.push_back(std::move(place.grown));
    }
    std::stable_sort(list.begin(), list.end(), [](const Grown& a, const Grown& b) {
      return std::tuple(a.grows, a.bytes, a.count) > std::tuple(b.grows, b.bytes, b.count);
    });
    return list;
  }

 private:
  // Function, file and line of each Python function. The names live as long as the view.
  using Lines = std::vector<std::tuple<std::string_view, std::string_view, int>>;
  Lines lines_of(std::uint32_t stack) const {
    Lines lines;
    for (const frames::PythonLine& one : view_.python(stack)) {
      lines.emplace_back(one.function, one.file, one.line);
    }
    return lines;
  }

  const holdings::View& view_;
  const std::uint64_t since_, now_;
  using Place = std::tuple<std::string, std::vector<std::uint64_t>, Lines>;
  struct Objects {
    Grown grown;
    std::vector<std::uint64_t> calls;
  };
  std::map<Place, Objects> all_;
};

std::vector<Grown> grown_since(const holdings::View& view, const holdings::Snapshot& now,
                               std::uint64_t since) {
  Growing growing(view, since, now.calls);
  for (const Reservation& r : now.reservations) {
    growing.add(holdings::kReservationWords, r.made, r.size);
  }
  for (const holdings::MemoryHeld& m : now.memory) {
    if (m.allocation.multicast) continue;  // counted as a team below
    growing.add(holdings::words(m), m.allocation.made, m.allocation.size);
  }
  for (const holdings::Descriptor& d : now.descriptors) {
    // The shim does not see every close, such as close_range(); a closed descriptor does not count.
    if (open_there(d.exported)) {
      growing.add(holdings::words(d.kind), d.exported.made, d.exported.size);
    }
  }
  for (const holdings::Piece& p : now.pieces) growing.add(holdings::words(p.kind), p.made, p.size);
  for (const holdings::Team& t : now.teams) growing.add("multicast object", t.made, t.size);
  return growing.take();
}

// "3 pieces of pool memory".
std::string amount_text(const Grown& grown) {
  std::string text = counted(grown.count, grown.what);
  if (grown.bytes != 0) text += ", " + size_text(grown.bytes);
  return text;
}

std::string grown_text(LiveStacks& stacks, const std::vector<Grown>& all) {
  if (all.empty()) return "Nothing that was made since then is still there.\n";
  std::string text;
  for (const Grown& grown : all) {
    text += counted(grown.count, grown.what) + " made since then and still there";
    if (grown.bytes != 0) text += ", " + size_text(grown.bytes);
    text += fmt::format(" (the first by call {})\n", grown.first_call);
    text += stacks.text(grown.stack, "    ");
  }
  return text;
}

// Without a mark, shows the places that made several objects, because a growing place is among
// them.
std::string held_text(LiveStacks& stacks, const std::vector<Grown>& all) {
  constexpr std::size_t kMostPlaces = 5;
  std::string text;
  std::size_t shown = 0, places = 0;
  for (const Grown& held : all) {
    if (held.count < 2) continue;
    if (++places > kMostPlaces) continue;
    ++shown;
    text += fmt::format("{} from one place, all still there (calls {} to {}{})\n",
                        amount_text(held), held.first_call, held.last_call,
                        held.grows ? ", and the place goes on making them" : "");
    text += stacks.text(held.stack, "    ");
  }
  if (places > shown) text += fmt::format("and {} more places (--json has all)\n", places - shown);
  return text;
}

}  // namespace

Model model_of(const holdings::Snapshot& now) {
  Model model;
  for (const Reservation& r : now.reservations) model.restore(r);
  for (const Mapping& m : now.mappings) model.restore(m);
  for (const holdings::MemoryHeld& m : now.memory) {
    // A multicast object needs more fields than a process shows.
    if (!m.allocation.multicast) model.restore(m.allocation);
  }
  for (const holdings::Descriptor& d : now.descriptors) {
    if (d.kind == holdings::Descriptor::Kind::kExported) model.restore(d.exported);
  }
  for (const holdings::Piece& p : now.pieces) {
    if (p.kind != holdings::Piece::Kind::kPool || p.left == 0) continue;
    PoolMemory left;
    left.base = p.base;
    left.size = p.size;
    left.pool = p.more;
    left.access = 0;
    left.made = p.made;
    model.restore(left);
  }
  return model;
}

std::vector<Used> objects_in_use(const holdings::Snapshot& now, const Model& model) {
  std::vector<Used> all;
  std::set<Address> given_up;
  for (const Abandoned& abandoned : abandoned_reservations(model)) {
    for (const Reservation* r : abandoned.reservations) given_up.insert(r->base);
  }
  for (const Reservation& r : now.reservations) {
    if (given_up.contains(r.base)) continue;
    const bool holds = model.holds_mapping(r);
    all.push_back(
        {holds ? holdings::kReservationWords : holdings::kEmptyReservationWords, r.size, r.made});
  }
  for (const holdings::MemoryHeld& m : now.memory) {
    const bool known = !m.allocation.multicast;
    if (!known || !leaks(model, m.allocation))
      all.push_back({holdings::words(m), m.allocation.size, m.allocation.made});
  }
  for (const holdings::Piece& p : now.pieces) {
    const bool leak = p.left != 0 || p.kind == holdings::Piece::Kind::kIpc;
    if (!leak) all.push_back({holdings::words(p.kind), p.size, p.made});
  }
  return all;
}

Json in_use_json(const std::vector<Used>& all) {
  struct Sum {
    std::uint64_t count = 0, bytes = 0;
  };
  std::map<std::string_view, Sum> sums;
  for (const Used& one : all) {
    Sum& sum = sums[one.what];
    ++sum.count;
    sum.bytes += one.bytes;
  }
  Json list = Json::array();
  for (const auto& [what, sum] : sums) {
    list.push_back({{"what", what}, {"count", sum.count}, {"bytes", sum.bytes}});
  }
  return list;
}

LiveLeaks find_live_leaks(const holdings::View& view, std::uint64_t since, int settle_ms) {
  t_pid = view.pid();
  const Model earlier = model_of(view.snapshot());
  std::set<Which> before;
  for (const Violation& v : check_exit(earlier, &open_there, {})) before.insert(which(v));
  std::this_thread::sleep_for(std::chrono::milliseconds(settle_ms));
  const holdings::Snapshot now = view.snapshot();
  LiveLeaks leaks;
  leaks.calls = now.calls;
  leaks.unseen = now.sums.missed + now.torn + (now.cut ? 1 : 0);
  leaks.given_up = check_exit(model_of(now), &open_there, {});
  leaks.given_up.erase_if([&](const Violation& v) {
    return !before.contains(which(v)) || v.objects.empty() || v.objects.front().made.call <= since;
  });
  leaks.grown = grown_since(view, now, since);
  return leaks;
}

std::string leaks_text(const holdings::View& view, const LiveLeaks& leaks, std::uint64_t since,
                       bool marked) {
  LiveStacks stacks(view);
  std::string text =
      fmt::format("process {}, {}, after call {}", view.pid(), view.program(), leaks.calls);
  if (marked) text += fmt::format("; since call {}", since);
  text += '\n';
  text += marked ? grown_text(stacks, leaks.grown) : held_text(stacks, leaks.grown);
  if (leaks.unseen != 0) {
    text += fmt::format(
        "The file with the process's objects had no place for {} more: whether these are given up "
        "is not known.\n",
        leaks.unseen);
  } else if (leaks.given_up.empty()) {
    text += "Nothing is given up and still pinned.\n";
  }
  for (const Violation& v : leaks.given_up) {
    text += fmt::format("{}: {}\n", info(v.rule).id, v.message);
    for (const ObjectRef& object : v.objects) {
      text += fmt::format("  {} {}, made by call {}\n", name(object.kind), hex_text(object.value),
                          object.made.call);
      text += stacks.text(object.made.stack, "    ");
    }
  }
  text += fmt::format("To see only later objects: cuvmm leaks {} --since {}\n", view.pid(),
                      leaks.calls);
  return text;
}

Json leaks_json(const holdings::View& view, const LiveLeaks& leaks, bool marked) {
  LiveStacks stacks(view);
  Json given_up = Json::array(), grown = Json::array();
  for (const Violation& v : leaks.given_up) {
    Json objects = Json::array();
    for (const ObjectRef& object : v.objects) {
      objects.push_back({{"what", name(object.kind)},
                         {"value", hex_text(object.value)},
                         {"size", object.size},
                         {"call", object.made.call},
                         {"stack", stacks.lines(object.made.stack)}});
    }
    given_up.push_back({{"rule", info(v.rule).id}, {"message", v.message}, {"objects", objects}});
  }
  for (const Grown& each : leaks.grown) {
    grown.push_back({{"what", each.what},
                     {"count", each.count},
                     {"bytes", each.bytes},
                     {"first_call", each.first_call},
                     {"last_call", each.last_call},
                     {"grows", each.grows},
                     {"stack", stacks.lines(each.stack)}});
  }
  return {{"pid", view.pid()},
          {"mark", leaks.calls},
          {"unseen", leaks.unseen},
          {"leaks", given_up},
          {"held", marked ? Json::array() : grown},
          {"grown", marked ? grown : Json::array()}};
}

}  // namespace cuvmm::tools
