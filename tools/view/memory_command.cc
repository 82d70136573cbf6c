// SPDX-License-Identifier: Apache-2.0
// cuvmm memory REPORT.json: prints which stacks held the memory, at the peak or at a moment, and
// how much more another run holds.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/timeline/holdings.h"
#include "tools/timeline/memory_use.h"
#include "tools/view/read_report.h"

namespace cuvmm::tools {

namespace {

struct MemoryOptions {
  std::string report, at, diff, folded;
  bool peak = false;
  std::size_t limit = 20;
};

std::string amount(std::int64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; std::abs(value) >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

struct MemoryRow {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::string site;
};

std::vector<MemoryRow> rows_of(const Holdings& holdings, const Holdings* other) {
  std::vector<MemoryRow> rows;
  for (const auto& [stack, one] : holdings) {
    rows.push_back(
        {static_cast<std::int64_t>(one.bytes), static_cast<std::int64_t>(one.count), one.site});
    if (!other) continue;
    const auto found = other->find(stack);
    if (found == other->end()) continue;
    rows.back().bytes -= static_cast<std::int64_t>(found->second.bytes);
    rows.back().count -= static_cast<std::int64_t>(found->second.count);
  }
  if (other) {
    for (const auto& [stack, one] : *other) {
      if (holdings.contains(stack)) continue;
      rows.push_back(
          {-static_cast<std::int64_t>(one.bytes), -static_cast<std::int64_t>(one.count), one.site});
    }
    std::erase_if(rows, [](const MemoryRow& row) { return row.bytes == 0 && row.count == 0; });
  }
  std::sort(rows.begin(), rows.end(), [](const MemoryRow& a, const MemoryRow& b) {
    return std::make_pair(-std::abs(a.bytes), a.site) < std::make_pair(-std::abs(b.bytes), b.site);
  });
  return rows;
}

std::vector<ProcessTimeline> timelines_in(const std::string& path) {
  std::vector<ProcessTimeline> timelines = timelines_of(read_report(path));
  if (timelines.empty()) {
    throw UsageError{path +
                     " has no timeline: record one with cuvmm run --timeline --report FILE.json"};
  }
  return timelines;
}

// Prints how the memory is used, because memory without a mapping may still be in use.
void tell_use(const std::optional<MemoryUse>& use) {
  if (!use || use->all() == 0) return;
  const auto text = [](std::uint64_t bytes) { return amount(static_cast<std::int64_t>(bytes)); };
  print_output("of that, of cuMemCreate: {} mapped", text(use->mapped));
  if (use->bound > 0) print_output(", {} only bound to a multicast object", text(use->bound));
  if (use->sparse > 0) print_output(", {} only in a sparse array", text(use->sparse));
  print_output(", {} kept by handles alone\n", text(use->idle));
}

std::string folded_stacks(const Holdings& holdings) {
  std::string text;
  for (const auto& [stack, one] : holdings) text += fmt::format("{} {}\n", stack, one.bytes);
  return text;
}

int tell_memory(const MemoryOptions& options) {
  MomentOfRun moment;
  if (!options.at.empty()) {
    if (options.peak) throw UsageError{"--at and --peak exclude each other"};
    const auto ns = parse_moment(options.at);
    if (!ns) throw UsageError{"--at " + options.at + ": expected a time such as 1.5s or 200ms"};
    moment = {.peak = false, .ns = *ns};
  }
  const std::vector<ProcessTimeline> timelines = timelines_in(options.report);
  const Holdings holdings = holdings_at(timelines, moment);
  if (!options.folded.empty()) {
    const std::string problem = write_whole(options.folded, folded_stacks(holdings));
    if (problem.empty()) return 0;
    print_error("cuvmm memory: --folded {}: {}\n", options.folded, problem);
    return kExitFailure;
  }
  Holdings other;
  if (!options.diff.empty()) other = holdings_at(timelines_in(options.diff), moment);
  const std::vector<MemoryRow> rows = rows_of(holdings, options.diff.empty() ? nullptr : &other);
  std::int64_t total = 0;
  for (const MemoryRow& row : rows) total += row.bytes;
  const std::string when = moment.peak ? "at the peak" : "after " + options.at;
  if (options.diff.empty()) {
    print_output("{} of physical memory {}\n", amount(total), when);
    tell_use(memory_use_at(timelines, moment));
  } else {
    print_output("{} holds {} {} than {}, {}\n", options.report, amount(std::abs(total)),
                 total < 0 ? "less" : "more", options.diff, when);
  }
  const std::size_t shown = std::min(rows.size(), options.limit);
  for (std::size_t i = 0; i < shown; ++i) {
    std::string site = rows[i].site;
    for (char& c : site) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    print_output("{:>12} {:>6}  {}\n", amount(rows[i].bytes), rows[i].count, site);
  }
  if (shown < rows.size()) print_output("and {} more places\n", rows.size() - shown);
  return 0;
}

}  // namespace

void add_memory(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "memory", "Show which places held memory during a run, or compare two runs");
  auto options = std::make_shared<MemoryOptions>();
  command->add_option("REPORT", options->report, "JSON of cuvmm run --timeline --report")
      ->required()
      ->type_name("");
  command->add_flag("--peak", options->peak, "When each process held most (the default)");
  command->add_option("--at", options->at, "So long after the start: 1.5s, 200ms, 10us")
      ->type_name("TIME");
  command
      ->add_option("--diff", options->diff,
                   "Show the memory that REPORT holds in excess of OTHER, by place")
      ->type_name("OTHER");
  command
      ->add_option("--folded", options->folded,
                   "Write the stacks with their bytes for speedscope and flame graphs")
      ->type_name("FILE");
  command->add_option("--limit", options->limit, "Places that are printed")->type_name("N");
  command->footer(
      "Examples:\n"
      "  cuvmm memory report.json --at 2s\n"
      "  cuvmm memory b.json --diff a.json        why does b hold more?\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = tell_memory(*options);
  });
}

}  // namespace cuvmm::tools
