// SPDX-License-Identifier: Apache-2.0
#include "tools/matrix/driver_pages.h"

#include <fmt/core.h>

#include <cctype>

#include "api/words.h"
#include "tools/matrix/matrix_diff.h"
#include "tools/work/result_file.h"

namespace cuvmm::tools {

namespace {

constexpr std::string_view kDocs = "../";

std::string file_name(const DriverResults& driver) {
  std::string name;
  for (const char c : driver.gpu + "-" + driver.driver) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.';
    name += plain ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  }
  return name + ".md";
}

// The doctor's verdicts on the machines. If the machines differ in a check, all verdicts are named.
std::string machine_text(const DriverResults& driver) {
  if (driver.doctor.empty()) return "";
  std::map<std::string, std::string> by_verdict;
  for (const auto& [check, verdicts] : driver.doctor) {
    for (const std::string& verdict : verdicts) {
      std::string& list = by_verdict[verdict];
      list += (list.empty() ? "" : ", ") + check;
    }
  }
  std::string text =
      "\n## What these machines can do\n\nBy [`cuvmm doctor`](../doctor.md).\n\n"
      "| verdict | checks |\n|---|---|\n";
  for (const auto& [verdict, checks] : by_verdict)
    text += fmt::format("| {} | {} |\n", verdict, checks);
  return text;
}

std::string bench_text(const DriverResults& driver) {
  std::string rows;
  for (const auto& [name, values] : driver.bench_ns) {
    const std::size_t kind = name.rfind('/');
    if (name.substr(kind + 1) != "bare") continue;
    const std::string what = name.substr(0, kind);
    const auto shim = driver.bench_ns.find(what + "/shim");
    rows +=
        fmt::format("| `{}` | {:.0f} | {} |\n", what, median(values),
                    shim == driver.bench_ns.end() ? "not measured"
                                                  : fmt::format("{:.0f}", median(shim->second)));
  }
  if (rows.empty()) return "";
  return "\n## What a call takes\n\nMedian nanoseconds, without and with the shim; `live:N` is the "
         "number of mappings that\nthere are meanwhile. [performance.md](../performance.md) says "
         "how it is measured.\n\n| call | bare | shim |\n|---|---|---|\n" +
         rows;
}

std::string history_text(const std::vector<const DriverResults*>& same_gpu, std::size_t at,
                         const Matrix& matrix) {
  std::string text = "\n## Against the driver before it\n\n";
  if (at == 0) {
    return text +
           "There are no results of an older driver for this GPU. `cuvmm matrix --diff A B` "
           "compares "
           "any two drivers.\n";
  }
  const MatrixDiff diff = difference(matrix, at - 1, at);
  return text + fmt::format("[{}]({}): {}\n{}", same_gpu[at - 1]->driver,
                            file_name(*same_gpu[at - 1]), diff_sentence(diff),
                            diff_tables(diff, kDocs));
}

std::string head(const std::string& command) {
  return fmt::format("<!-- Written by docs/generate: `{}`. -->\n", command);
}

std::string machines(const DriverResults& driver) {
  return count_text(driver.nodes.size(), "machine");
}

}  // namespace

std::vector<DriverPage> driver_pages(const ResultFolder& folder, const std::string& command) {
  std::map<std::string, std::vector<const DriverResults*>> by_gpu;
  for (const DriverResults& each : folder.drivers) {
    if (!each.emulated) by_gpu[each.gpu].push_back(&each);
  }
  std::vector<DriverPage> pages;
  std::string list =
      head(command) +
      "# GPUs and drivers\n\nThe results of real machines that lie in "
      "`conformance/answers.tar.xz`. [fleets.md](fleets.md) says\nhow they are made and "
      "how to send yours.\n\n| GPU | driver | run | rules |\n|---|---|---|---|\n";
  for (const auto& [gpu, drivers] : by_gpu) {
    std::vector<MatrixColumn> columns;
    for (const DriverResults* each : drivers) columns.push_back(each->column);
    const Matrix matrix = make_matrix(std::move(columns), {});
    for (std::size_t i = 0; i < drivers.size(); ++i) {
      const DriverResults& driver = *drivers[i];
      const MatrixColumn& column = matrix.columns[i];
      pages.push_back({file_name(driver),
                       head(command) +
                           fmt::format("# {}\n\n{}; {}. {}.\n", markdown_text(column.title),
                                       markdown_text(column.detail), machines(driver),
                                       counts_text(matrix, column)) +
                           history_text(drivers, i, matrix) + machine_text(driver) +
                           bench_text(driver) + "\n## Where it differs from the documentation\n" +
                           deviation_tables(matrix, column, kDocs)});
      list += fmt::format("| {} | [{}]({}) | {}; {} | {} |\n", markdown_text(gpu), driver.driver,
                          file_name(driver), markdown_text(column.detail), machines(driver),
                          counts_text(matrix, column));
    }
  }
  pages.push_back({"README.md", std::move(list)});
  return pages;
}

}  // namespace cuvmm::tools
