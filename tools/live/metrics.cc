// SPDX-License-Identifier: Apache-2.0
#include "tools/live/metrics.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include "tools/base/openmetrics.h"
#include "tools/live/top.h"
#include "tools/report/blame/blame.h"
#include "tools/report/blame/owner.h"

namespace cuvmm::tools {

namespace {

struct Process {
  std::string pid, program;
};
std::string device_text(std::int64_t device) {
  return device < 0 ? "unknown" : std::to_string(device);
}

std::string device_of(const Allocation& allocation) {
  if (!allocation.prop_known) return "unknown";
  const bool device = allocation.prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return device ? std::to_string(allocation.prop.location.id) : "host";
}

const char* state_of(const Allocation& allocation) {
  if (allocation.imported) return "imported";
  return allocation.mappings != 0 ? "mapped" : "unmapped";
}

const char* state_of(const holdings::Piece& piece) {
  using Kind = holdings::Piece::Kind;
  constexpr const char* kStates[] = {"device",     "managed", "page_locked",
                                     "registered", "pool",    "ipc"};
  static_assert(std::size(kStates) == static_cast<std::size_t>(Kind::kCount));
  return kStates[static_cast<std::size_t>(piece.kind)];
}

bool of_host(const holdings::Piece& piece) {
  using Kind = holdings::Piece::Kind;
  return piece.kind == Kind::kHost || piece.kind == Kind::kRegistered;
}

using Key2 = std::pair<std::string, std::string>;
using Key3 = std::tuple<std::string, std::string, std::string>;
using Key4 = std::tuple<std::string, std::string, std::string, std::string>;

class Tables {
 public:
  /// `creator` names the code that made the stack with an id.
  template <class Creator>
  void add(const Process& of, const holdings::Snapshot& now, const Creator& creator) {
    add_sums(of, now.sums);
    const auto hold = [&](const std::string& device, const char* state, std::uint64_t size,
                          const Origin& made) {
      bytes_[{of.pid, of.program, device, state}] += size;
      created_[{of.program, device, creator(made.stack)}] += size;
    };
    for (const holdings::MemoryHeld& held : now.memory) {
      const Allocation& one = held.allocation;
      if (!one.multicast) hold(device_of(one), state_of(one), one.size, one.made);
    }
    for (const holdings::Piece& piece : now.pieces) {
      hold(of_host(piece) ? "host" : device_text(piece.device), state_of(piece), piece.size,
           piece.made);
    }
  }
  /// The `most` creators with the most bytes stay in each program; the rest becomes "other".
  void bound(std::size_t most) {
    std::map<std::string, std::map<std::string, std::uint64_t>> sums;
    for (const auto& [key, size] : created_) sums[std::get<0>(key)][std::get<2>(key)] += size;
    std::map<Key3, std::uint64_t> bounded;
    for (const auto& [key, size] : created_) {
      const std::string &program = std::get<0>(key), &device = std::get<1>(key),
                        &by = std::get<2>(key);
      const auto& all = sums[program];
      const auto larger = std::ranges::count_if(all, [&, own = all.at(by)](const auto& other) {
        return other.second > own || (other.second == own && other.first < by);
      });
      const bool stays = static_cast<std::size_t>(larger) < most;
      bounded[{program, device, stays ? by : "other"}] += size;
    }
    created_ = std::move(bounded);
  }
  std::string text(std::size_t processes) const {
    Metrics out;
    out.gauge("cuvmm_processes", "Processes under cuvmm whose memory can be read.");
    out.sample({}, processes);
    out.gauge("cuvmm_reserved_bytes", "Address space of cuMemAddressReserve.");
    by_process(out, reserved_);
    out.gauge("cuvmm_memory_bytes", "Physical memory that the process holds.");
    for (const auto& [key, size] : bytes_) {
      const auto& [pid, program, device, state] = key;
      out.sample({{"pid", pid}, {"program", program}, {"device", device}, {"state", state}}, size);
    }
    out.gauge("cuvmm_creator_memory_bytes", "Physical memory by the code that asked for it.");
    for (const auto& [key, size] : created_) {
      const auto& [program, device, by] = key;
      out.sample({{"program", program}, {"device", device}, {"creator", by}}, size);
    }
    out.gauge("cuvmm_objects", "Objects that the process holds.");
    for (const auto& [key, count] : objects_) {
      const auto& [pid, program, kind] = key;
      out.sample({{"pid", pid}, {"program", program}, {"kind", kind}}, count);
    }
    out.gauge("cuvmm_missed_objects", "Objects that found no room in their process's file.");
    by_process(out, missed_);
    return out.text();
  }

 private:
  static void by_process(Metrics& out, const std::map<Key2, std::uint64_t>& table) {
    for (const auto& [key, value] : table)
      out.sample({{"pid", key.first}, {"program", key.second}}, value);
  }
  void add_sums(const Process& of, const holdings::Sums& sums) {
    reserved_[{of.pid, of.program}] += sums.reserved;
    missed_[{of.pid, of.program}] += sums.missed;
    const std::pair<const char*, std::uint64_t> kinds[] = {{"reservation", sums.reservations},
                                                           {"mapping", sums.mappings},
                                                           {"allocation", sums.allocations},
                                                           {"import", sums.imports},
                                                           {"export", sums.exports},
                                                           {"received_descriptor", sums.received},
                                                           {"dma_buf", sums.dma_bufs},
                                                           {"plain", sums.plain},
                                                           {"host", sums.host},
                                                           {"pool", sums.pool},
                                                           {"ipc", sums.ipc},
                                                           {"multicast", sums.teams}};
    for (const auto& [kind, count] : kinds) objects_[{of.pid, of.program, kind}] += count;
  }

  std::map<Key2, std::uint64_t> reserved_, missed_;  // by process
  std::map<Key3, std::uint64_t> objects_;            // by process and kind
  std::map<Key4, std::uint64_t> bytes_;              // by process, device and state
  std::map<Key3, std::uint64_t> created_;            // by program, device and creator
};

}  // namespace

const std::string& LiveMetrics::creator(const holdings::View& view, std::uint32_t stack,
                                        std::optional<LiveStacks>& stacks) {
  const auto [found, fresh] = creators_[view.path()].try_emplace(stack, "unknown");
  if (!fresh) return found->second;
  if (!stacks) stacks.emplace(view);
  const std::vector<frames::Frame>& all = stacks->frames(stack);
  if (const auto blamed = blame(all, OwnCode())) {
    const std::filesystem::path name = name_of_code(all[blamed->frame]);
    found->second = name.filename().string();
  }
  return found->second;
}

std::string LiveMetrics::text(const std::vector<holdings::View>& views) {
  std::erase_if(creators_, [&](const auto& one) {
    return std::ranges::none_of(views, [&](const auto& view) { return view.path() == one.first; });
  });
  std::vector<const holdings::View*> ordered;
  for (const holdings::View& view : views) ordered.push_back(&view);
  std::ranges::stable_sort(ordered, std::greater<>(),
                           [](const holdings::View* view) { return physical(view->sums()); });
  Tables tables;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const holdings::View& view = *ordered[i];
    std::optional<LiveStacks> stacks;
    Process process{"other", "other"};
    if (i < kMostProcesses) {
      process = {std::to_string(view.pid()),
                 std::filesystem::path(view.program()).filename().string()};
    }
    tables.add(process, view.snapshot(),
               [&](std::uint32_t stack) { return creator(view, stack, stacks); });
  }
  tables.bound(kMostCreators);
  return tables.text(views.size());
}

}  // namespace cuvmm::tools
