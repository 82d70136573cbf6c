// SPDX-License-Identifier: Apache-2.0
// cuvmm matrix FILE... [--diff] [--markdown FILE] [--html FILE] [--deviations FILE] [--pages DIR]
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/matrix/driver_pages.h"
#include "tools/matrix/matrix_diff.h"
#include "tools/matrix/matrix_input.h"

namespace cuvmm::tools {

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string markdown, html, deviations, pages;
  bool diff = false;
};

struct Page {
  std::string path;
  std::string text;
};

int write_all(const std::vector<Page>& pages) {
  for (const Page& page : pages) {
    const std::string problem = write_whole(page.path, page.text);
    if (problem.empty()) continue;
    print_error("cuvmm matrix: {}\n", problem);
    return kExitFailure;
  }
  return 0;
}

// A page per driver. Only a folder of `cuvmm work` will do, because other files do not describe the
// machine.
std::vector<Page> pages_of_drivers(const Options& options, const std::string& command) {
  if (options.inputs.size() != 1 || !std::filesystem::is_directory(options.inputs[0]))
    throw UsageError{"--pages: expected one folder of `cuvmm work`"};
  const ResultFolder folder = read_result_folder(options.inputs[0]);
  if (!folder.error.empty()) throw UsageError{folder.error};
  std::vector<Page> pages;
  for (DriverPage& page : driver_pages(folder, command))
    pages.push_back({options.pages + "/" + page.file, std::move(page.text)});
  return pages;
}

// Compares two columns. They may be two runs of one driver, so they are not joined.
MatrixDiff diff_of(std::vector<MatrixColumn> columns, const Options& options) {
  if (columns.size() != 2 || options.inputs.size() != 2) {
    std::string titles;
    for (const MatrixColumn& column : columns)
      titles += (titles.empty() ? "" : "; ") + column.title;
    throw UsageError{fmt::format("--diff: expected two inputs of one driver each; these are {}: {}",
                                 columns.size(), titles)};
  }
  const bool alike = columns[0].title == columns[1].title;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].merges.clear();
    if (alike) columns[i].title += ": " + options.inputs[i];
  }
  return difference(make_matrix(std::move(columns), options.inputs), 0, 1);
}

int write_diff(const MatrixDiff& diff, const Options& options, const std::string& command) {
  std::vector<Page> pages;
  const std::string text = diff_markdown(diff, command);
  if (!options.markdown.empty()) pages.push_back({options.markdown, text});
  if (!options.html.empty())
    pages.push_back({options.html, matrix_html(diff.table, diff_sentence(diff))});
  if (pages.empty()) print_output("{}", text);
  return write_all(pages);
}

int matrix(const Options& options) {
  std::vector<MatrixColumn> columns;
  std::string command = "cuvmm matrix";
  if (options.diff) command += " --diff";
  for (const std::string& path : options.inputs) {
    MatrixInput input = load_matrix_input(path);
    if (!input.error.empty()) throw UsageError{input.error};
    for (MatrixColumn& column : input.columns) columns.push_back(std::move(column));
    command += " " + path;
  }
  if (options.diff) return write_diff(diff_of(std::move(columns), options), options, command);
  const Matrix table = make_matrix(std::move(columns), options.inputs);
  std::vector<Page> pages;
  if (!options.pages.empty()) pages = pages_of_drivers(options, command);
  if (!options.deviations.empty())
    pages.push_back({options.deviations, deviations_markdown(table, command)});
  if (!options.markdown.empty())
    pages.push_back({options.markdown, matrix_markdown(table, command)});
  if (!options.html.empty()) pages.push_back({options.html, matrix_html(table)});
  if (pages.empty()) print_output("{}", matrix_markdown(table, command));
  return write_all(pages);
}

}  // namespace

void add_matrix(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("matrix", "Make a table of what each driver does with each rule");
  auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->inputs,
                   "JSON of cuvmm conform or cuvmm-record, TOML profiles, built-in profiles' "
                   "names, or folders of cuvmm work; runs of one driver share a column")
      ->required()
      ->type_name("...");
  command
      ->add_option("--markdown", options->markdown,
                   "Write the table as Markdown (default: to standard output)")
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write it as one self-contained page")
      ->type_name("FILE");
  CLI::Option* deviations =
      command->add_option("--deviations", options->deviations,
                          "Write where drivers differ from the documentation, as Markdown");
  deviations->type_name("FILE");
  CLI::Option* diff = command->add_flag(
      "--diff", options->diff, "Show where two drivers differ, in rules and in legal flows");
  command
      ->add_option(
          "--pages", options->pages,
          "Write a page for each GPU and driver of a folder of cuvmm work into this folder")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory)
      ->excludes(diff);
  deviations->excludes(diff);
  command->footer(
      "Examples:\n"
      "  cuvmm matrix --diff 580.json 590.json\n"
      "  cuvmm matrix h200.json a100.json --html matrix.html\n"
      "  cuvmm matrix documented h200-580.159.04 --markdown matrix.md\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = matrix(*options);
  });
}

}  // namespace cuvmm::tools
