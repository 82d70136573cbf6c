// SPDX-License-Identifier: Apache-2.0
// cuvmm top, cuvmm map PID, cuvmm leaks PID: look at living processes without stopping them.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/live/keys.h"
#include "tools/live/live_folder.h"
#include "tools/live/live_leaks.h"
#include "tools/live/map.h"
#include "tools/live/metrics.h"
#include "tools/live/metrics_server.h"
#include "tools/live/process_view.h"
#include "tools/live/sharing/open_files.h"
#include "tools/live/sharing/sharing.h"
#include "tools/live/top.h"

namespace cuvmm::tools {

namespace {

constexpr long kMostPid = 1L << 30;
constexpr int kSettle = 100;  // ms between two looks for leaks; a call takes less

struct TopSettings {
  std::string folder;
  int tree = 0;
  double interval = 1;
  std::size_t count = 0;  // number of tables; 0: until the user ends the command
  bool once = false, json = false, sharing = false;
  bool metrics = false;
  std::string textfile, listen;
};

struct OneSettings {
  std::string folder;
  int pid = 0;
  std::optional<std::uint64_t> since;
  bool whole = false, json = false;
};

void print_json(const Json& value) {
  print_output("{}\n", value.dump(1, ' ', false, Json::error_handler_t::replace));
}

std::vector<holdings::View> chosen(const TopSettings& settings) {
  std::vector<std::string> problems;
  std::vector<holdings::View> views = holdings::open_all(settings.folder, problems);
  // A screen that is drawn again and again would repeat the problems each time.
  if (settings.once) {
    for (const std::string& problem : problems) print_error("cuvmm top: {}\n", problem);
  }
  return settings.tree == 0 ? std::move(views) : tree_of(settings.tree, std::move(views));
}

// Also finds processes outside of --tree.
std::vector<DeviceFiles> keepers_beside(const TopSettings& settings) {
  std::vector<std::string> problems;
  std::set<int> shown;
  for (const holdings::View& view : holdings::open_all(settings.folder, problems))
    shown.insert(view.pid());
  return device_file_keepers(shown);
}

std::size_t rows_of_screen() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 5;
  return known ? size.ws_row - 4u : std::size_t{20};
}

std::string screen(const std::vector<holdings::View>& views, const Marks& marks,
                   const TopSettings& settings, std::size_t rows) {
  if (views.empty()) {
    return "No process lists its objects in " + settings.folder +
           ". Start one with: cuvmm run -- PROGRAM\n";
  }
  std::string text = top_text(top_rows(views, marks), rows);
  if (settings.sharing) {
    text += sharing_text(shared_memory(views));
    text += device_files_text(keepers_beside(settings));
  }
  return text;
}

int top_once(const TopSettings& settings) {
  const std::vector<holdings::View> views = chosen(settings);
  if (settings.json) {
    Json value = top_json(top_rows(views, mark_now(views)));
    if (settings.sharing) {
      Json all = Json::array();
      for (const SharedMemory& memory : shared_memory(views)) {
        Json holders = Json::array();
        for (const SharedMemory::Holder& holder : memory.holders) {
          holders.push_back({{"pid", holder.pid}, {"how", holder.how}});
        }
        all.push_back({{"size", memory.size}, {"holders", holders}});
      }
      value["shared"] = all;
      Json others = Json::array();
      for (const DeviceFiles& one : keepers_beside(settings)) {
        others.push_back({{"pid", one.pid}, {"program", one.program}, {"files", one.count}});
      }
      value["device_files"] = others;
    }
    print_json(value);
  } else {
    print_output("{}", screen(views, mark_now(views), settings, ~std::size_t{0}));
  }
  return 0;
}

// Keeps the files that are mapped already, because only a few of their words are read.
void look_again(std::vector<holdings::View>& views, const TopSettings& settings) {
  std::erase_if(views, [](const holdings::View& view) { return !view.alive() || !view.current(); });
  for (holdings::View& fresh : chosen(settings)) {
    const bool known = std::any_of(views.begin(), views.end(), [&](const holdings::View& view) {
      return view.path() == fresh.path();
    });
    if (!known) views.push_back(std::move(fresh));
  }
}

// The line below the table, where a person can press a key.
std::string keys_text(std::time_t marked) {
  std::tm local{};
  ::localtime_r(&marked, &local);
  return fmt::format("m: mark   s: who shares   q: end   GROWTH is since {:02}:{:02}:{:02}\n",
                     local.tm_hour, local.tm_min, local.tm_sec);
}

// Whether stdout is a terminal that can be cleared.
bool is_screen() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) != 0 && kind && std::string_view(kind) != "dumb";
}

int top_again_and_again(TopSettings settings) {
  const bool terminal = is_screen();
  Keys keys;
  std::vector<holdings::View> views = chosen(settings);
  Marks marks = mark_now(views);
  std::time_t marked = std::time(nullptr);
  constexpr auto kNewcomers = std::chrono::seconds(1);
  auto looked = std::chrono::steady_clock::now();
  for (std::size_t drawn = 1;; ++drawn) {
    std::string text =
        screen(views, marks, settings, terminal ? rows_of_screen() : ~std::size_t{0});
    if (keys.on()) text += keys_text(marked);
    // Draws from the top left corner; clears the end of each line and the rest of the screen.
    if (terminal) write_output("\x1b[H\x1b[J");
    write_output(terminal ? text : text + "\n");
    if (!finish_output().empty()) return 0;  // the reader of stdout has closed it
    if (settings.count != 0 && drawn >= settings.count) return 0;
    const char key = keys.wait(settings.interval);
    if (key == 'q') return 0;
    if (key == 's') settings.sharing = !settings.sharing;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked >= kNewcomers) {
      look_again(views, settings);
      looked = now;
    }
    if (key == 'm') {
      marks = mark_now(views);
      marked = std::time(nullptr);
    }
  }
}

// The processes' numbers, once: on stdout or in a file; or again and again, for who scrapes.
int top_metrics(const TopSettings& settings) {
  LiveMetrics metrics;
  const auto now = [&] { return metrics.text(chosen(settings)); };
  if (!settings.listen.empty()) serve_metrics(settings.listen, now);
  for (std::size_t written = 1;; ++written) {
    if (settings.textfile.empty()) {
      print_output("{}", now());
    } else if (const std::string problem = write_whole(settings.textfile, now());
               !problem.empty()) {
      print_error("cuvmm top: {}\n", problem);
      return kExitFailure;
    }
    if (written >= settings.count) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.interval));
  }
}

void add_folder(CLI::App& command, std::string& folder) {
  command
      .add_option("--folder", folder,
                  "Folder in which processes list their objects (default: CUVMM_LIVE, else a "
                  "folder of the user)")
      ->type_name("DIR");
}

CLI::Option* add_pid(CLI::App& command, int& pid) {
  return command.add_option("PID", pid, "A process that cuvmm run has started, or a child of one")
      ->required()
      ->check(whole_number(1, kMostPid));
}

}  // namespace

void add_top(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("top", "List running processes under cuvmm, and what memory each holds");
  auto settings = std::make_shared<TopSettings>();
  add_folder(*command, settings->folder);
  command->add_option("--tree", settings->tree, "Only this process and those that it started")
      ->type_name("PID")
      ->check(whole_number(1, kMostPid));
  command->add_option("--interval", settings->interval, "Seconds from one table to the next")
      ->type_name("SECONDS")
      ->check(seconds(0.01))
      ->default_val(1.0);
  command->add_option("--count", settings->count, "End after so many tables")
      ->type_name("N")
      ->check(whole_number(1, 1000000000));
  command->add_flag("--once", settings->once, "One table, then end");
  command->add_flag("--sharing", settings->sharing,
                    "Also say which processes hold the same memory");
  command->add_flag("--json", settings->json, "One JSON document, then end");
  command->add_flag("--metrics", settings->metrics,
                    "Write OpenMetrics for Prometheus once, or --count times");
  command
      ->add_option("--textfile", settings->textfile,
                   "With --metrics: into this file, which is replaced as a whole")
      ->type_name("FILE");
  command
      ->add_option("--listen", settings->listen,
                   "With --metrics: answer at http://HOST:PORT/metrics until the command is ended")
      ->type_name("HOST:PORT");
  command->footer(
      "Examples:\n"
      "  cuvmm top\n"
      "  cuvmm top --metrics --listen 127.0.0.1:9400    for a Prometheus that scrapes\n"
      "  cuvmm top --once --sharing    one table, and who holds the same memory\n"
      "RESERVED: address space. MAPPED and UNUSED: memory of cuMemCreate that is mapped, or "
      "mapped\n"
      "nowhere. PLAIN: of cuMemAlloc and of pools. FOREIGN: imported, or opened by IPC. FDS: "
      "exported,\n"
      "received and dma-buf descriptors. GROWTH: of all memory, since this command began, or "
      "since\n"
      "the key m was pressed.\n");
  command->callback([settings, &line] {
    if (settings->folder.empty()) settings->folder = live_folder();
    settings->once = settings->once || settings->json || settings->metrics;
    if (!settings->metrics && !(settings->textfile.empty() && settings->listen.empty()))
      throw UsageError{"--textfile and --listen say where --metrics go; give --metrics, too"};
    if (!settings->textfile.empty() && !settings->listen.empty())
      throw UsageError{"--textfile and --listen exclude each other"};
    if (settings->metrics && (settings->json || settings->sharing))
      throw UsageError{"--metrics has neither --json nor --sharing"};
    if (settings->metrics) {
      line.exit_code = top_metrics(*settings);
      return;
    }
    line.exit_code = settings->once ? top_once(*settings) : top_again_and_again(*settings);
  });
}

void add_map(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("map", "Show the address space of a running process under cuvmm");
  auto settings = std::make_shared<OneSettings>();
  add_pid(*command, settings->pid);
  add_folder(*command, settings->folder);
  command->add_flag("--all", settings->whole, "A line for each mapping, also where many are alike");
  command->add_flag("--json", settings->json, "Write JSON");
  command->footer(
      "Examples:\n"
      "  cuvmm map 4711          the process 4711, as `cuvmm top` names it\n"
      "  cuvmm map --all 4711    each mapping by itself\n");
  command->callback([settings, &line] {
    if (settings->folder.empty()) settings->folder = live_folder();
    const holdings::View view = view_of(settings->pid, settings->folder);
    const holdings::Snapshot now = view.snapshot();
    if (settings->json) {
      print_json(map_json(view, now));
    } else {
      print_output("{}", map_text(view, now, settings->whole));
    }
    line.exit_code = 0;
  });
}

void add_leaks(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("leaks",
                                         "Show the objects of a running process that grow in "
                                         "number, and memory that it unmapped and never released");
  auto settings = std::make_shared<OneSettings>();
  add_pid(*command, settings->pid);
  add_folder(*command, settings->folder);
  command
      ->add_option("--since", settings->since,
                   "Only objects that later calls made, also those that the process still uses; "
                   "the command prints the number for the next time")
      ->type_name("CALL");
  command->add_flag("--json", settings->json, "Write JSON");
  command->footer(
      "Examples:\n"
      "  cuvmm leaks 4711                the objects of process 4711; first those that grow in "
      "number\n"
      "  cuvmm leaks --since 900 4711    the objects that calls after the 900th made\n"
      "Exits with 1 if memory is given up and still pinned.\n");
  command->callback([settings, &line] {
    if (settings->folder.empty()) settings->folder = live_folder();
    const holdings::View view = view_of(settings->pid, settings->folder);
    if (const std::string closed = closed_to_us(settings->pid); !closed.empty()) {
      print_error("cuvmm leaks: {}\n", closed);
    }
    const bool marked = settings->since.has_value();
    const std::uint64_t since = settings->since.value_or(0);
    const LiveLeaks leaks = find_live_leaks(view, since, kSettle);
    if (settings->json) {
      print_json(leaks_json(view, leaks, marked));
    } else {
      print_output("{}", leaks_text(view, leaks, since, marked));
    }
    const int none = leaks.unseen == 0 ? 0 : kExitLeaksUnknown;
    line.exit_code = leaks.given_up.empty() ? none : kExitDifference;
  });
}

}  // namespace cuvmm::tools
