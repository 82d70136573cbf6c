// SPDX-License-Identifier: Apache-2.0
// cuvmm to-c FILE [-o OUT]
#include <memory>
#include <sstream>

#include "program/c/c_source.h"
#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/replay/program_file.h"

namespace cuvmm::tools {

using program::CSource;
using program::write_c;

namespace {

int to_c(const std::string& file, const std::string& output) {
  const ProgramFile program = read_program(file);
  if (!program.error.empty()) {
    print_error("{}\n", program.error);
    return kExitUsage;
  }
  const std::string origin = file == "-" ? "standard input" : file;
  const CSource source = write_c(program.program, origin);
  if (!source.error.empty()) {
    std::istringstream lines(source.error);
    for (std::string line; std::getline(lines, line);) print_error("{}:{}\n", origin, line);
    return kExitUsage;
  }
  if (output.empty()) {
    print_output("{}", source.text);
    return 0;
  }
  const std::string problem = write_whole(output, source.text);
  if (!problem.empty()) print_error("cuvmm to-c: {}\n", problem);
  return problem.empty() ? 0 : kExitFailure;
}

}  // namespace

void add_to_c(CLI::App& app, CommandLine& line) {
  struct Options {
    std::string file, output;
  };
  CLI::App* command = app.add_subcommand("to-c", "Write a recorded program as one C file");
  auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->file,
                   "Program text (docs/program-text.md), - for standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", options->output, "Where to write it (default: standard output)")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  cuvmm to-c trace.txt -o repro.c && cc repro.c -lcuda && ./a.out\n"
      "  cuvmm to-c - < trace.txt\n"
      "Programs with several processes or threads cannot be written as C: each such line is "
      "named.\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    line.exit_code = to_c(options->file, options->output);
  });
}

}  // namespace cuvmm::tools
