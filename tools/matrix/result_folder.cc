// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/result_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "api/posix/whole_file.h"
#include "api/words.h"
#include "tools/matrix/matrix_case.h"
#include "tools/work/result_file.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSkipped = "not-supported: ";

void take_conformance(MatrixColumn& column, const UnitResult& result) {
  const bool skipped = result.answers.size() == 1 && result.answers[0].rfind(kSkipped, 0) == 0;
  if (skipped) return skip_case(column, result.unit, result.answers[0].substr(kSkipped.size()));
  take_case(column, result.unit, result.answers);
}

void take_bench(DriverResults& driver, const UnitResult& result) {
  const auto nanoseconds = measured_ns(result);
  if (nanoseconds)
    driver.bench_ns[result.unit.substr(result.unit.find('/') + 1)].push_back(*nanoseconds);
}

void take(DriverResults& driver, const ShardResult& shard) {
  driver.devices.insert(shard.stamp.devices);
  driver.nodes.insert(shard.stamp.node);
  for (const UnitResult& each : shard.results) {
    if (shard.job.kind == WorkKind::kConformance) {
      take_conformance(driver.column, each);
    } else if (shard.job.kind == WorkKind::kDoctor) {
      driver.doctor[each.unit.substr(each.unit.find('/') + 1)].insert(each.status);
    } else if (shard.job.kind == WorkKind::kBench) {
      take_bench(driver, each);
    }
  }
}

void name_column(DriverResults& driver, int cuda, std::size_t cases) {
  MatrixColumn& column = driver.column;
  column.title =
      driver.emulated ? "emulator as " + driver.driver : driver.gpu + ", driver " + driver.driver;
  if (!driver.emulated) column.merges = driver.gpu + "\n" + driver.driver;
  std::string gpus;
  for (const int count : driver.devices)
    gpus += (gpus.empty() ? "" : " or ") + std::to_string(count);
  column.detail = fmt::format("CUDA {}.{}, {} GPU{}, {}", cuda / 1000, cuda % 1000 / 10, gpus,
                              gpus == "1" ? "" : "s", count_text(cases, "case"));
}

std::vector<unsigned long> numbers(const std::string& version) {
  std::vector<unsigned long> out;
  const char* const end = version.data() + version.size();
  for (const char* at = version.data(); at < end;) {
    unsigned long value = 0;
    const auto [next, problem] = std::from_chars(at, end, value);
    if (problem == std::errc()) out.push_back(value);
    at = next == at ? at + 1 : next;
  }
  return out;
}

}  // namespace

bool older(const std::string& one, const std::string& other) {
  return std::tuple(numbers(one), one) < std::tuple(numbers(other), other);
}

ResultFolder read_result_folder(const std::string& path) {
  struct Seen {
    DriverResults results;
    int cuda = 0;
    std::set<std::string> cases;
  };
  std::map<std::tuple<bool, std::string, std::string>, Seen> seen;
  ResultFolder folder;
  for (const std::string& file : result_paths(path)) {
    const ReadResult read = parse_result(whole_file(file).text, fs::path(file).filename().string());
    if (!read.error.empty()) {
      folder.error = file + ": " + read.error;
      return folder;
    }
    const Stamp& stamp = read.result.stamp;
    Seen& mine = seen[{stamp.emulated, stamp.gpu, stamp.driver}];
    std::tie(mine.results.gpu, mine.results.driver, mine.results.emulated) =
        std::tie(stamp.gpu, stamp.driver, stamp.emulated);
    mine.cuda = std::max(mine.cuda, stamp.cuda);
    if (read.result.job.kind == WorkKind::kConformance) {
      for (const UnitResult& each : read.result.results) mine.cases.insert(each.unit);
    }
    take(mine.results, read.result);
  }
  for (auto& [key, mine] : seen) {
    name_column(mine.results, mine.cuda, mine.cases.size());
    folder.drivers.push_back(std::move(mine.results));
  }
  std::stable_sort(folder.drivers.begin(), folder.drivers.end(),
                   [](const DriverResults& a, const DriverResults& b) {
                     return a.gpu == b.gpu ? older(a.driver, b.driver) : a.gpu < b.gpu;
                   });
  if (folder.drivers.empty()) folder.error = path + ": expected files that `cuvmm work run` wrote";
  return folder;
}

}  // namespace cuvmm::tools
