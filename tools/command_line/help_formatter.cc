// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line/help_formatter.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

namespace cuvmm::tools {

namespace {

constexpr std::size_t kNarrow = 40, kUsual = 80, kWide = 120;

// The column at which the descriptions begin.
std::size_t column_of(std::size_t width) { return width < kUsual ? 20 : 28; }

// A name, and its description beside it.
std::string row(const std::string& name, const std::string& text) {
  const std::size_t width = help_width(), column = column_of(width);
  std::string line = "  " + name;
  if (line.size() + 2 > column) {
    line = filled(line.substr(2), 2, 6, width);
    line.insert(0, "  ");
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  return line + filled(text, column, column, width) + "\n";
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}
// Columns that a remark needs at least; its further lines stand below its first one.
constexpr std::size_t kRemark = 8;

// Lays out an example line such as "  cuvmm rules     all of them": a command and a remark.
std::string example_text(const std::string& line, std::size_t width) {
  if (line.size() <= width) return line + "\n";
  const std::size_t start = line.find_first_not_of(' '), gap = line.find("  ", start);
  if (gap == std::string::npos) return line + "\n";
  const std::string remark = line.substr(line.find_first_not_of(' ', gap));
  return line.substr(0, gap) + "\n      " + filled(remark, 6, 6, width) + "\n";
}

}  // namespace

std::size_t help_width() {
  std::size_t width = 0;
  if (const char* const columns = std::getenv("COLUMNS")) {
    width = std::strtoul(columns, nullptr, 10);
  }
  winsize terminal{};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0) width = terminal.ws_col;
  return width == 0 ? kUsual : std::clamp(width, kNarrow, kWide);
}

std::string filled(std::string_view text, std::size_t begun, std::size_t indent,
                   std::size_t width) {
  std::istringstream words{std::string(text)};
  std::string result;
  std::size_t column = begun;
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string filled_footer(std::string_view footer, std::size_t width) {
  std::istringstream lines{std::string(footer)};
  std::string result, paragraph, example;
  const auto end_example = [&] {
    if (!example.empty()) result += example_text(example, width);
    example.clear();
  };
  const auto end_paragraph = [&] {
    end_example();
    if (!paragraph.empty()) result += filled(paragraph, 0, 0, width) + "\n";
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (indent_of(line) >= kRemark && !example.empty()) {
      example += line.substr(indent_of(line) - 1);
    } else if (indent_of(line) != 0) {
      end_paragraph();
      example = line;
    } else {
      end_example();
      if (line == "Examples:" && !paragraph.empty()) {
        end_paragraph();
        result += '\n';
      }
      paragraph += line + " ";
      if (line.empty() || line.ends_with(':')) end_paragraph();
    }
  }
  end_example();
  end_paragraph();
  return result;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  // Makes one blank line of the two that CLI11 puts between headings.
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
  return help;
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool positional) const {
  const std::string name = CLI::Formatter::make_option_name(option, positional);
  return name == "--emulate{}" ? "--emulate[=PROFILE]" : name;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  // Nothing for an argument, because the usage line shows whether it is required or may be
  // repeated.
  if (option->get_positional()) return "";
  std::string text = CLI::Formatter::make_option_opts(option);
  // Removes the "..." of an option that the user may repeat, because each time it takes one value.
  constexpr std::string_view kMany = " ...";
  if (!option->get_allow_extra_args() && text.ends_with(kMany))
    text.resize(text.size() - kMany.size());
  // make_option() names these options in the description.
  return text.substr(0, text.find(" Excludes:"));
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  std::set<std::string> others;
  for (const CLI::Option* other : option->get_excludes()) others.insert(other->get_name());
  std::string without;
  for (const std::string& name : others) without += (without.empty() ? " (not with " : ", ") + name;
  if (!without.empty()) without += ')';
  return row(make_option_name(option, positional) + make_option_opts(option),
             make_option_desc(option) + without);
}

std::string HelpFormatter::make_group(std::string group, bool positional,
                                      std::vector<const CLI::Option*> options) const {
  if (group != kRunsOptions)
    return CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  std::string names;
  for (const CLI::Option* option : options) {
    names += (names.empty() ? "" : ", ") + make_option_name(option, positional);
  }
  return "\n" + group + " (see `cuvmm run --help`):\n  " + filled(names, 2, 2, help_width()) + "\n";
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return row(command->get_display_name(true), command->get_description());
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  const CLI::App* const parent = app->get_parent();
  if (parent && parent->get_parent() && !name.starts_with("cuvmm")) name = "cuvmm " + name;
  if (parent) return CLI::Formatter::make_usage(app, std::move(name));
  return "Usage: " + app->get_name() + " COMMAND [OPTIONS]\n";
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return filled(app->get_description(), 0, 0, help_width()) + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return filled_footer(app->get_footer(), help_width());
}

}  // namespace cuvmm::tools
