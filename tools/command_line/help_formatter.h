// SPDX-License-Identifier: Apache-2.0
// Formats --help for the width of the terminal, with a command's options under headings.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

/// The heading of options that a command shares with `cuvmm run`. The command's help lists only
/// their names, in one line.
inline constexpr const char* kRunsOptions = "Options of `cuvmm run`";

/// Columns of the terminal, from 40 to 120: the value of COLUMNS, else the width of the terminal at
/// stdout, else 80.
std::size_t help_width();

/// Fills `text` to `width` columns. The first line begins at column `begun`, every other line
/// behind `indent` blanks. The last line has no newline.
std::string filled(std::string_view text, std::size_t begun, std::size_t indent, std::size_t width);

/// Lines with examples stay; a remark beside an example moves below it if the line is too long.
/// Other lines up to the next example are filled as one paragraph.
std::string filled_footer(std::string_view footer, std::size_t width);

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option_name(const CLI::Option* option, bool positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace cuvmm::tools
