// SPDX-License-Identifier: Apache-2.0
#include "tools/live/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "api/words.h"
#include "recorder/holdings/counted.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/live/live_folder.h"
#include "tools/live/process_view.h"

namespace cuvmm::tools {

namespace {

std::string team_of(const holdings::Snapshot& now, std::uint64_t handle) {
  std::string text = "handle " + hex_text(handle);
  for (const holdings::Team& team : now.teams) {
    if (team.handle != handle) continue;
    text += team.bindings == 0 ? ", no binding" : ", " + counted(team.bindings, "binding");
  }
  return text;
}

std::uint64_t unseen(const holdings::Snapshot& now) {
  return now.sums.missed + now.torn + (now.cut ? 1 : 0);
}

}  // namespace

std::vector<InTheWay> in_the_way(const holdings::Snapshot& now) {
  std::map<std::pair<Blocking, std::uint32_t>, InTheWay> places;
  const auto add = [&](Blocking kind, const Origin& made, std::uint64_t bytes,
                       const std::string& which) {
    InTheWay& one = places[{kind, made.stack}];
    one.bytes += bytes;
    if (one.count++ != 0 && made.call >= one.first_call) return;
    one.kind = kind;
    one.first_call = made.call;
    one.stack = made.stack;
    one.which = which;
  };
  for (const holdings::MemoryHeld& m : now.memory) {
    const Allocation& a = m.allocation;
    const auto kind = blocking(a);
    if (!kind) continue;
    add(*kind, a.made, a.size,
        a.multicast ? team_of(now, a.handle) : "handle " + hex_text(a.handle));
  }
  for (const holdings::Descriptor& d : now.descriptors) {
    if (d.kind != holdings::Descriptor::Kind::kReceived)
      add(Blocking::kExported, d.exported.made, d.exported.size,
          "descriptor " + std::to_string(d.exported.fd));
  }
  for (const holdings::Piece& p : now.pieces) {
    using Kind = holdings::Piece::Kind;
    if (p.kind == Kind::kManaged)
      add(Blocking::kManaged, p.made, p.size, "at " + hex_text(p.base));
    else if (p.kind == Kind::kIpc)
      add(Blocking::kIpcOpened, p.made, p.size, "at " + hex_text(p.base));
  }
  std::vector<InTheWay> out;
  for (auto& [key, one] : places) out.push_back(std::move(one));
  std::ranges::stable_sort(out, [](const InTheWay& a, const InTheWay& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.first_call < b.first_call;
  });
  return out;
}

std::string checkpoint_text(const holdings::View& view, const holdings::Snapshot& now) {
  LiveStacks stacks(view);
  std::string text =
      fmt::format("process {}, {}, after call {}\n", view.pid(), view.program(), now.calls);
  const std::vector<InTheWay> all = in_the_way(now);
  if (all.empty()) text += "The process shows no object that is in the way of a checkpoint.\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const InTheWay& one = all[i];
    if (i == 0 || all[i - 1].kind != one.kind)
      text += fmt::format("{}: {}\n", words(one.kind), effect(one.kind));
    text += fmt::format("  {}{} (call {}", one.which,
                        one.bytes == 0 ? "" : ", " + size_text(one.bytes), one.first_call);
    text += one.count == 1 ? ")\n" : fmt::format(", and {} more from this place)\n", one.count - 1);
    text += stacks.text(one.stack, "    ");
  }
  if (unseen(now) != 0)
    text += fmt::format("{} more objects could not be looked at.\n", unseen(now));
  return text;
}

Json checkpoint_json(const holdings::View& view, const holdings::Snapshot& now) {
  LiveStacks stacks(view);
  Json list = Json::array();
  for (const InTheWay& one : in_the_way(now)) {
    list.push_back({{"what", words(one.kind)},
                    {"effect", effect(one.kind)},
                    {"which", one.which},
                    {"count", one.count},
                    {"bytes", one.bytes},
                    {"first_call", one.first_call},
                    {"stack", stacks.lines(one.stack)}});
  }
  return {{"pid", view.pid()}, {"call", now.calls}, {"unseen", unseen(now)}, {"blockers", list}};
}

void add_checkpoint(CLI::App& app, CommandLine& line) {
  struct Settings {
    std::string folder;
    int pid = 0;
    bool check = false, json = false;
  };
  constexpr long kMostPid = 1L << 30;
  CLI::App* command = app.add_subcommand(
      "checkpoint", "Say what a checkpoint of a running process would hang on, or lose");
  auto settings = std::make_shared<Settings>();
  command
      ->add_option("PID", settings->pid, "A process that cuvmm run has started, or a child of one")
      ->required()
      ->check(whole_number(1, kMostPid));
  command
      ->add_flag("--check", settings->check,
                 "List the objects that are in the way; the process goes on")
      ->required();
  command
      ->add_option("--folder", settings->folder,
                   "Folder in which processes list their objects (default: CUVMM_LIVE, else a "
                   "folder of the user)")
      ->type_name("DIR");
  command->add_flag("--json", settings->json, "Write JSON");
  command->footer(
      "Examples:\n"
      "  cuvmm checkpoint 4711 --check    before cuda-checkpoint --action lock --pid 4711\n"
      "Exits with 1 if an object is in the way.\n");
  command->callback([settings, &line] {
    if (settings->folder.empty()) settings->folder = live_folder();
    const holdings::View view = view_of(settings->pid, settings->folder);
    const holdings::Snapshot now = view.snapshot();
    if (settings->json) {
      print_output("{}\n",
                   checkpoint_json(view, now).dump(1, ' ', false, Json::error_handler_t::replace));
    } else {
      print_output("{}", checkpoint_text(view, now));
    }
    const int none = unseen(now) == 0 ? 0 : kExitLeaksUnknown;
    line.exit_code = in_the_way(now).empty() ? none : kExitDifference;
  });
}

}  // namespace cuvmm::tools
