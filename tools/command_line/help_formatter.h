// SPDX-License-Identifier: Apache-2.0
// Help as it fits the terminal: each command's own options under headings.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

/// The heading of options that a command has from `cuvmm run`: its help names them in a line.
inline constexpr const char* kRunsOptions = "Options of `cuvmm run`";

/// Columns of the terminal, from 40 to 120: those in COLUMNS, else those of the terminal that
/// stdout is, else 80.
std::size_t help_width();

/// Fills `text` to `width` columns. Its first line goes on at column `begun`; each other one begins
/// behind `indent` blanks. No line ends with a newline but those between.
std::string filled(std::string_view text, std::size_t begun, std::size_t indent, std::size_t width);

/// Examples keep their lines, and a remark beside one goes below it where there is no room. Other
/// lines are filled, as one paragraph up to the next example.
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
