// SPDX-License-Identifier: Apache-2.0
#include "tools/live/map.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "api/location.h"
#include "api/words.h"
#include "tools/live/process_view.h"

namespace cuvmm::tools {

namespace {

std::string span_text(std::uint64_t base, std::uint64_t size) {
  return fmt::format("{}-{}", hex_text(base), hex_text(base + size));
}

// "0 rw, 1 r, host rw"; "nobody" where the program never set access.
std::string access_of(const AccessMask& access) {
  std::string text;
  const auto add = [&](const std::string& who, std::uint64_t bit) {
    if ((access.read & bit) == 0) return;
    text += (text.empty() ? "" : ", ") + who + ((access.write & bit) != 0 ? " rw" : " r");
  };
  for (int device = 0; device < 62; ++device) {
    add("device " + std::to_string(device), std::uint64_t{1} << device);
  }
  add("host", AccessMask::kHostBit);
  return text.empty() ? "nobody" : text;
}

std::string place_of(const Allocation& a) {
  if (a.multicast) return "multicast object";
  std::string text = a.imported ? "imported memory" : "memory";
  if (!a.prop_known) return text;
  const int device = device_of(a.prop.location);
  return text + (device >= 0 ? " of device " + std::to_string(device) : " of the host");
}

const char* name(holdings::Piece::Kind kind) {
  using K = holdings::Piece::Kind;
  switch (kind) {
    case K::kDevice:
      return "cuMemAlloc";
    case K::kManaged:
      return "cuMemAllocManaged";
    case K::kHost:
      return "page-locked host memory";
    case K::kRegistered:
      return "registered host memory";
    case K::kPool:
      return "memory of a pool";
    case K::kIpc:
      return "opened IPC memory";
    case K::kCount:
      break;
  }
  return "memory";
}

const char* descriptor_text(holdings::Descriptor::Kind kind) {
  using K = holdings::Descriptor::Kind;
  if (kind == K::kReceived) return "received, and imported from as";
  return kind == K::kDmaBuf ? "a dma-buf" : "exported from";
}

// "devices 0, 3 added"; the devices that other processes added are unknown.
std::string added_text(std::uint64_t mask) {
  std::string devices;
  for (int device = 0; device < 64; ++device) {
    if ((mask >> device & 1) != 0)
      devices += (devices.empty() ? "" : ", ") + std::to_string(device);
  }
  return devices.empty() ? "no device added" : "device " + devices + " added";
}

// A line of neighbouring mappings with equal size, place and access.
struct Row {
  const Mapping* first;
  std::uint64_t count;
  std::string what;
};

class Drawing {
 public:
  Drawing(const holdings::Snapshot& now, bool whole, LiveStacks& stacks)
      : now_(now), whole_(whole), stacks_(stacks) {
    for (const holdings::MemoryHeld& m : now.memory) memory_[m.allocation.handle] = &m.allocation;
  }

  std::string text() {
    auto next = now_.mappings.begin();
    for (const Reservation& r : now_.reservations) {
      std::vector<Mapping> inside;
      for (; next != now_.mappings.end() && next->base < r.base + r.size; ++next) {
        inside.push_back(*next);
      }
      reservation(r, inside);
    }
    if (next != now_.mappings.end()) {
      text_ += "mappings outside of every reservation that is known:\n";
      rows({next, now_.mappings.end()}, std::nullopt);
    }
    unmapped();
    teams();
    descriptors();
    pieces();
    return std::move(text_);
  }

 private:
  // " (call 17, in weights() at model.cc:4)".
  std::string by(const Origin& made) {
    const std::string place = stacks_.place(made.stack);
    return fmt::format(" (call {}{}{})", made.call, place.empty() ? "" : ", in ", place);
  }

  // Where a reservation has holes, prints the largest one, because a program that looks for space
  // in its own reservation needs it.
  void reservation(const Reservation& r, const std::vector<Mapping>& inside) {
    std::uint64_t mapped = 0, holes = 0, largest = 0, end = r.base;
    const auto hole = [&](std::uint64_t until) {
      if (until == end) return;
      ++holes;
      largest = std::max(largest, until - end);
    };
    for (const Mapping& m : inside) {
      hole(m.base);
      mapped += m.size;
      end = m.base + m.size;
    }
    hole(r.base + r.size);
    std::string room;
    if (holes == 0) room = ", which is full";
    if (holes > 1) room = ", the largest hole has " + size_text(largest);
    text_ += fmt::format("{}  reserved: {}, {} of it mapped{}{}\n", span_text(r.base, r.size),
                         size_text(r.size), mapped ? size_text(mapped) : std::string("nothing"),
                         room, by(r.made));
    rows(inside, r);
  }

  void rows(const std::vector<Mapping>& mappings, const std::optional<Reservation>& in) {
    std::optional<Row> row;
    std::uint64_t end = in ? in->base : 0;
    for (const Mapping& m : mappings) {
      const std::string what = describe(m);
      const bool hole = in && m.base != end;
      if (row && !hole && !whole_ && row->first->size == m.size && row->what == what) {
        ++row->count;
      } else {
        flush(row);
        if (hole) text_ += fmt::format("  {}  nothing\n", span_text(end, m.base - end));
        row = Row{&m, 1, what};
      }
      end = m.base + m.size;
    }
    flush(row);
    if (in && !mappings.empty() && end < in->base + in->size) {
      text_ += fmt::format("  {}  nothing\n", span_text(end, in->base + in->size - end));
    }
  }

  void flush(const std::optional<Row>& row) {
    if (!row) return;
    const Mapping& m = *row->first;
    text_ += fmt::format("  {}  ", span_text(m.base, m.size * row->count));
    text_ +=
        row->count == 1 ? size_text(m.size) : fmt::format("{} x {}", row->count, size_text(m.size));
    text_ += " of " + row->what + "\n";
  }

  std::string describe(const Mapping& m) const {
    const auto found = memory_.find(m.handle);
    const std::string place = found == memory_.end() ? "memory" : place_of(*found->second);
    return place + ", access: " + access_of(m.access);
  }

  void unmapped() {
    for (const holdings::MemoryHeld& m : now_.memory) {
      const Allocation& a = m.allocation;
      if (a.mappings != 0) continue;
      text_ += fmt::format("handle {}  {} of {}, mapped nowhere, {}{}\n", hex_text(a.handle),
                           a.size ? size_text(a.size) : std::string("some"), place_of(a),
                           a.references == 1 ? std::string("1 reference")
                                             : std::to_string(a.references) + " references",
                           by(a.made));
    }
  }

  void teams() {
    for (const holdings::Team& t : now_.teams) {
      text_ += fmt::format(
          "multicast object {}  {} for {}, {}; {} of this process bound in {}{}{}\n",
          hex_text(t.handle), t.size ? size_text(t.size) : std::string("some"),
          t.wanted ? count_text(t.wanted, "device") : std::string("a team"), added_text(t.added),
          t.bound ? size_text(t.bound) : std::string("nothing"), count_text(t.bindings, "binding"),
          t.shared ? ", shared with other processes" : "", by(t.made));
    }
  }

  void descriptors() {
    for (const holdings::Descriptor& d : now_.descriptors) {
      const bool dma_buf = d.kind == holdings::Descriptor::Kind::kDmaBuf;
      text_ += fmt::format("descriptor {}  {}{}{}\n", d.exported.fd, descriptor_text(d.kind),
                           dma_buf ? "" : " " + hex_text(d.exported.handle), by(d.exported.made));
    }
  }

  void pieces() {
    for (const holdings::Piece& p : now_.pieces) {
      text_ += fmt::format("{}  {} of {}{}{}\n", span_text(p.base, p.size),
                           p.size ? size_text(p.size) : std::string("some"), name(p.kind),
                           p.device >= 0 ? ", device " + std::to_string(p.device) : "", by(p.made));
    }
  }

  const holdings::Snapshot& now_;
  const bool whole_;
  LiveStacks& stacks_;
  std::map<Handle, const Allocation*> memory_;
  std::string text_;
};

}  // namespace

std::string map_text(const holdings::View& view, const holdings::Snapshot& now, bool whole) {
  std::string text =
      fmt::format("process {}, {}, after call {}\n", view.pid(), view.program(), now.calls);
  LiveStacks stacks(view);
  text += Drawing(now, whole, stacks).text();
  if (now.torn != 0) {
    text += fmt::format("{} objects changed all the while and are not shown.\n", now.torn);
  }
  if (now.sums.missed != 0) {
    text +=
        fmt::format("The process's file had no place for {} more objects, which are not shown.\n",
                    now.sums.missed);
  }
  return text;
}

Json map_json(const holdings::View& view, const holdings::Snapshot& now) {
  LiveStacks stacks(view);
  const auto by = [&](Json one, const Origin& made) {
    one["call"] = made.call;
    one["made_at"] = stacks.place(made.stack);
    return one;
  };
  Json reservations = Json::array(), mappings = Json::array(), memory = Json::array();
  Json descriptors = Json::array(), pieces = Json::array();
  for (const Reservation& r : now.reservations) {
    reservations.push_back(by({{"base", hex_text(r.base)}, {"size", r.size}}, r.made));
  }
  for (const Mapping& m : now.mappings) {
    mappings.push_back(by({{"base", hex_text(m.base)},
                           {"size", m.size},
                           {"offset", m.offset},
                           {"handle", hex_text(m.handle)},
                           {"access", access_of(m.access)}},
                          m.made));
  }
  for (const holdings::MemoryHeld& m : now.memory) {
    const Allocation& a = m.allocation;
    memory.push_back(by({{"handle", hex_text(a.handle)},
                         {"size", a.size},
                         {"what", place_of(a)},
                         {"references", a.references},
                         {"mappings", a.mappings},
                         {"imported", a.imported}},
                        a.made));
  }
  for (const holdings::Descriptor& d : now.descriptors) {
    descriptors.push_back(by({{"fd", d.exported.fd},
                              {"what", descriptor_text(d.kind)},
                              {"handle", hex_text(d.exported.handle)},
                              {"size", d.exported.size}},
                             d.exported.made));
  }
  for (const holdings::Piece& p : now.pieces) {
    pieces.push_back(by({{"base", hex_text(p.base)},
                         {"size", p.size},
                         {"what", name(p.kind)},
                         {"device", p.device}},
                        p.made));
  }
  Json teams = Json::array();
  for (const holdings::Team& t : now.teams) {
    teams.push_back(by({{"handle", hex_text(t.handle)},
                        {"size", t.size},
                        {"devices", t.wanted},
                        {"added", std::popcount(t.added)},
                        {"bindings", t.bindings},
                        {"bound", t.bound},
                        {"shared", t.shared != 0}},
                       t.made));
  }
  return {{"pid", view.pid()},     {"program", view.program()},    {"driver", view.driver()},
          {"call", now.calls},     {"reservations", reservations}, {"mappings", mappings},
          {"allocations", memory}, {"exports", descriptors},       {"pieces", pieces},
          {"teams", teams},        {"missed", now.sums.missed}};
}

}  // namespace cuvmm::tools
