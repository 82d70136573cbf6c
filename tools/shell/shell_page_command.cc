// SPDX-License-Identifier: Apache-2.0
// cuvmm shell-page man|bash|zsh|fish: prints the manual page or a completion, which the build
// installs. --help does not show this command.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/installation/install_paths.h"
#include "tools/shell/option_table.h"

namespace cuvmm::tools {

void add_shell_page(CLI::App& app, CommandLine&) {
  CLI::App* command = app.add_subcommand(
      "shell-page", "Print the manual page, or what a shell completes, as made from the options");
  command->group("");
  auto kind = std::make_shared<std::string>();
  command->add_option("KIND", *kind, "Which page")
      ->required()
      ->type_name("man|bash|zsh|fish")
      ->check(one_of({"man", "bash", "zsh", "fish"}));
  command->callback([&app, kind] {
    const std::vector<CommandEntry> table = option_table(app);
    if (*kind == "man") write_output(man_page(table, kVersion));
    if (*kind == "bash") write_output(bash_completion(table));
    if (*kind == "zsh") write_output(zsh_completion(table));
    if (*kind == "fish") write_output(fish_completion(table));
  });
}

}  // namespace cuvmm::tools
