// SPDX-License-Identifier: Apache-2.0
// cuvmm matrix FILE... [--markdown FILE] [--html FILE] [--deviations FILE]
#include <memory>

#include "tools/atomic_file.h"
#include "tools/commands.h"
#include "tools/matrix/matrix_input.h"
#include "tools/standard_streams.h"
#include "tools/usage.h"

namespace cuvmm::tools {

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string markdown, html, deviations;
};

int matrix(const Options& options) {
  std::vector<MatrixColumn> columns;
  std::string command = "cuvmm matrix";
  for (const std::string& path : options.inputs) {
    MatrixInput input = load_matrix_input(path);
    if (!input.error.empty()) throw UsageError{input.error};
    columns.push_back(std::move(input.column));
    command += " " + path;
  }
  const Matrix table = make_matrix(std::move(columns), options.inputs);
  struct Page {
    const std::string& path;
    std::string text;
  };
  std::vector<Page> pages;
  if (!options.markdown.empty()) {
    pages.push_back({options.markdown, matrix_markdown(table, command)});
  }
  if (!options.deviations.empty()) {
    pages.push_back({options.deviations, deviations_markdown(table, command)});
  }
  if (!options.html.empty()) pages.push_back({options.html, matrix_html(table)});
  for (const Page& page : pages) {
    const std::string problem = write_whole(page.path, page.text);
    if (problem.empty()) continue;
    print_error("cuvmm matrix: {}\n", problem);
    return kExitFailure;
  }
  if (pages.empty()) print_output("{}", matrix_markdown(table, command));
  return 0;
}

}  // namespace

void add_matrix(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("matrix", "Make a table of what each driver does with each rule");
  auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->inputs,
                   "JSON of cuvmm conform or cuvmm-record, TOML profiles, or built-in profiles' "
                   "names; runs of one driver share a column")
      ->required()
      ->type_name("...");
  command
      ->add_option("--markdown", options->markdown,
                   "Write the table as Markdown (default: to standard output)")
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write it as one self-contained page")
      ->type_name("FILE");
  command
      ->add_option("--deviations", options->deviations,
                   "Write where drivers differ from the documentation, as Markdown")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  cuvmm matrix h200.json a100.json --html matrix.html\n"
      "  cuvmm matrix documented h200-580.159.04 --markdown matrix.md\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = matrix(*options);
  });
}

}  // namespace cuvmm::tools
