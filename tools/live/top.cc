// SPDX-License-Identifier: Apache-2.0
#include "tools/live/top.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cuvmm::tools {

namespace {

// Removes control characters from a program's name, because a terminal would obey them.
std::string printable(std::string text, std::size_t width) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > width) text = text.substr(0, width - 1) + "~";
  return text;
}

std::string signed_size(std::int64_t bytes) {
  if (bytes == 0) return "0";
  const std::string size = short_size(static_cast<std::uint64_t>(std::llabs(bytes)));
  return (bytes < 0 ? "-" : "+") + size;
}

std::uint64_t plain(const holdings::Sums& sums) { return sums.plain_bytes + sums.pool_bytes; }
std::uint64_t foreign(const holdings::Sums& sums) { return sums.imported + sums.ipc_bytes; }
std::uint64_t descriptors(const holdings::Sums& sums) {
  return sums.exports + sums.received + sums.dma_bufs;
}

constexpr const char* kLine = "{:>7} {:<13}{:>9}{:>9}{:>9}{:>9}{:>9}{:>6}{:>8}\n";

}  // namespace

std::string short_size(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would print with five digits.
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = unit == 0 || value == static_cast<double>(static_cast<std::uint64_t>(value));
  return whole ? fmt::format("{}{}", static_cast<std::uint64_t>(value), kUnits[unit])
               : fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::uint64_t physical(const holdings::Sums& sums) {
  return sums.used + sums.unused + plain(sums) + foreign(sums);
}

Marks mark_now(const std::vector<holdings::View>& views) {
  Marks marks;
  for (const holdings::View& view : views) marks[view.pid()] = physical(view.sums());
  return marks;
}

std::vector<TopRow> top_rows(const std::vector<holdings::View>& views, const Marks& marks) {
  std::vector<TopRow> rows;
  for (const holdings::View& view : views) {
    TopRow row{view.pid(), std::filesystem::path(view.program()).filename().string(), view.sums(),
               0};
    const auto before = marks.find(row.pid);
    const std::uint64_t then = before == marks.end() ? 0 : before->second;
    row.growth = static_cast<std::int64_t>(physical(row.sums) - then);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TopRow& a, const TopRow& b) {
    return physical(a.sums) > physical(b.sums);
  });
  return rows;
}

std::string top_text(const std::vector<TopRow>& rows, std::size_t lines) {
  std::string text = fmt::format(kLine, "PID", "PROGRAM", "RESERVED", "MAPPED", "UNUSED", "PLAIN",
                                 "FOREIGN", "FDS", "GROWTH");
  holdings::Sums all{};
  std::int64_t growth = 0;
  std::uint64_t missed = 0;
  std::size_t shown = 0;
  for (const TopRow& row : rows) {
    const holdings::Sums& s = row.sums;
    all.reserved += s.reserved;
    all.used += s.used;
    all.unused += s.unused;
    all.plain_bytes += plain(s);
    all.imported += foreign(s);
    all.exports += descriptors(s);
    growth += row.growth;
    missed += s.missed;
    if (shown++ >= lines) continue;
    text += fmt::format(kLine, row.pid, printable(row.program, 12), short_size(s.reserved),
                        short_size(s.used), short_size(s.unused), short_size(plain(s)),
                        short_size(foreign(s)), descriptors(s), signed_size(row.growth));
  }
  const std::string processes =
      fmt::format("{} process{}", rows.size(), rows.size() == 1 ? "" : "es");
  text += fmt::format(kLine, "all", processes, short_size(all.reserved), short_size(all.used),
                      short_size(all.unused), short_size(all.plain_bytes), short_size(all.imported),
                      all.exports, signed_size(growth));
  if (missed != 0) {
    text += fmt::format(
        "The processes' files had no place for {} more objects, which are not counted.\n", missed);
  }
  return text;
}

Json top_json(const std::vector<TopRow>& rows) {
  Json all = Json::array();
  for (const TopRow& row : rows) {
    const holdings::Sums& s = row.sums;
    const auto part = [](std::uint64_t count, std::uint64_t bytes) {
      return Json{{"count", count}, {"bytes", bytes}};
    };
    all.push_back(
        {{"pid", row.pid},
         {"program", row.program},
         {"reservations", part(s.reservations, s.reserved)},
         {"mappings", part(s.mappings, s.mapped)},
         {"allocations", {{"count", s.allocations}, {"mapped", s.used}, {"unmapped", s.unused}}},
         {"imports", part(s.imports, s.imported)},
         {"exports", part(s.exports, s.exported)},
         {"received_descriptors", s.received},
         {"dma_bufs", s.dma_bufs},
         {"plain", part(s.plain, s.plain_bytes)},
         {"host", part(s.host, s.host_bytes)},
         {"pools", part(s.pool, s.pool_bytes)},
         {"ipc", part(s.ipc, s.ipc_bytes)},
         {"multicast_objects", s.teams},
         {"growth", row.growth},
         {"missed", s.missed}});
  }
  return {{"processes", all}};
}

}  // namespace cuvmm::tools
