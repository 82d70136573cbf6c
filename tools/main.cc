// SPDX-License-Identifier: Apache-2.0
// cuvmm: the command. Each subcommand has a file of its own; this file chooses the subcommand and
// prints errors of the command line.
#include <fmt/core.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <algorithm>
#include <string_view>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/help_formatter.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"
#include "tools/installation/install_paths.h"
#include "tools/installation/layout.h"
#include "tools/settings/settings.h"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  cuvmm run -- ./app                  check a program on this machine's driver\n"
    "  cuvmm run --emulate -- ./app        the same without a GPU\n"
    "  cuvmm explain cuMemMap-offset-zero  the meaning of a finding, and its fix\n";

using cuvmm::tools::CommandLine;

struct Group {
  const char* heading;
  std::vector<void (*)(CLI::App&, CommandLine&)> commands;
};

// Adds the subcommands in the order of --help and of the manual page.
void add_commands(CLI::App& app, CommandLine& line) {
  using namespace cuvmm::tools;
  const Group groups[] = {
      {"To begin with", {add_run, add_explain, add_view, add_fail, add_doctor}},
      {"More about a program", {add_hostile, add_rack, add_replay, add_predict, add_to_c}},
      {"Reports", {add_report, add_suppress, add_memory}},
      {"Processes, alive or crashed",
       {add_top, add_map, add_leaks, add_checkpoint, add_explain_crash}},
      {"Rules and drivers", {add_rules, add_matrix, add_conform, add_work}},
      {"Settings", {add_config}}};
  for (const Group& group : groups) {
    for (const auto add : group.commands) {
      add(app, line);
      app.get_subcommands([](const CLI::App*) { return true; }).back()->group(group.heading);
    }
  }
  add_shell_page(app, line);
}

// Adds an option that prints the folder of a part of the installation.
void add_installed_folder(CLI::App& app, const char* option, const char* from_bin,
                          const char* help) {
  const auto print = [option, from_bin] {
    const std::string bin = cuvmm::tools::own_folder();
    const std::string folder = cuvmm::tools::installed_folder(bin, from_bin);
    if (folder.empty()) {
      throw cuvmm::tools::UsageError{
          fmt::format("{}: this cuvmm is not installed: {} has no {}", option, bin, from_bin)};
    }
    throw CLI::CallForVersion(folder, 0);
  };
  app.add_flag_callback(option, print, help)->configurable(false);
}

// These commands take another program with its arguments behind `--`.
constexpr std::string_view kRunPrograms[] = {"run", "fail", "hostile", "rack"};

// The innermost subcommand on the command line, such as `plan` of `cuvmm work plan`.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

int usage_error(const CLI::App& app, std::string message) {
  // CLI11 gives an option that the help does not show no name.
  if (message.starts_with(": ")) message.erase(0, 2);
  std::string command = "cuvmm";
  for (const CLI::App* sub = &innermost(app); sub != &app; sub = sub->get_parent()) {
    command.insert(5, " " + sub->get_name());
  }
  cuvmm::tools::print_error("{}: {}\nTry '{} --help'.\n", command, message, command);
  return cuvmm::tools::kExitUsage;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

// "" if the words at the begin of `arguments` name a command, else the message about the first word
// that does not.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return "";
  std::vector<std::string> known = subcommand_names(app);
  if (std::ranges::find(known, arguments[0]) != known.end()) {
    const CLI::App* command = app.get_subcommand(arguments[0]);
    const bool group = !subcommand_names(*command).empty();
    if (!group || arguments.size() < 2) return "";
    const std::string inner = unknown_command(*command, {arguments.begin() + 1, arguments.end()});
    return inner.empty() ? "" : arguments[0] + ": " + inner;
  }
  std::string list;
  for (const std::string& name : known) {
    if (!app.get_subcommand(name)->get_group().empty()) list += (list.empty() ? "" : ", ") + name;
  }
  known.emplace_back("help");
  const std::string meant = cuvmm::tools::did_you_mean(arguments[0], known);
  return "unknown command '" + arguments[0] + "'" + (meant.empty() ? "." : meant) +
         " The commands are " + list;
}

// The message for a missing subcommand. CLI11's own message does not list the subcommands.
std::string what_is_required(const CLI::App& app, const CLI::RequiredError& error) {
  // A mistyped option explains why another one is missing.
  if (std::string message = cuvmm::tools::unexpected(innermost(app)); !message.empty()) {
    return message;
  }
  std::string list;
  for (const std::string& name : subcommand_names(innermost(app)))
    list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? error.what() : "no command given; expected one of " + list;
}

int parse_and_run(CLI::App& app, std::vector<std::string> arguments,
                  cuvmm::tools::CommandLine& line) {
  if (!arguments.empty() && arguments[0] == "help") {
    // `help run` means `run --help`, and `help work plan` means `work plan --help`.
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (!arguments.empty() &&
      std::ranges::find(kRunPrograms, arguments[0]) != std::end(kRunPrograms)) {
    // All words behind the first `--` belong to the program, even if they look like options of
    // cuvmm.
    const auto separator = std::find(arguments.begin(), arguments.end(), "--");
    if (separator != arguments.end()) {
      line.separator = true;
      line.after_separator.assign(separator + 1, arguments.end());
      arguments.erase(separator, arguments.end());
    }
  } else if (!arguments.empty() && arguments[0].size() > 1 && arguments[0][0] == '-') {
    const std::string word = arguments[0].substr(0, arguments[0].find('='));
    const std::vector<std::string> known = cuvmm::tools::option_names(app);
    if (word != "-h" && std::ranges::find(known, word) == known.end()) {
      return usage_error(app, "unknown option " + word + cuvmm::tools::did_you_mean(word, known));
    }
  } else if (const std::string message = unknown_command(app, arguments); !message.empty()) {
    return usage_error(app, message);
  }
  if (arguments.empty()) {
    return usage_error(app, "no command given; expected `cuvmm run -- PROGRAM` or another");
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the words from the end
    app.parse(arguments);
    return line.exit_code;
  } catch (const CLI::CallForHelp&) {
    // Prints the help of the innermost subcommand on the command line.
    const CLI::App& asked = innermost(app);
    const std::string name = &asked == &app ? "" : asked.get_parent()->get_name();
    cuvmm::tools::print_output("{}", asked.help(name));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    cuvmm::tools::print_output("{}\n", version.what());
    return 0;
  } catch (const CLI::RequiredError& error) {
    return usage_error(app, what_is_required(app, error));
  } catch (const CLI::ExtrasError& error) {
    const std::string message = cuvmm::tools::unexpected(innermost(app));
    return usage_error(app, message.empty() ? error.what() : message);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  } catch (const cuvmm::tools::UsageError& error) {
    return usage_error(app, error.message);
  }
}

// Makes the command fail if its output could not be written.
int finish(int exit_code) {
  const std::string problem = cuvmm::tools::finish_output();
  if (problem.empty()) return exit_code;
  // The reader of the pipe has closed it, as `| head` does. cuvmm then prints nothing, and exits
  // like a command that SIGPIPE ended.
  constexpr int kBySignal = 128;
  if (cuvmm::tools::nobody_reads_output()) return exit_code ? exit_code : kBySignal + SIGPIPE;
  cuvmm::tools::print_error("cuvmm: standard output: {}\n", problem);
  return exit_code ? exit_code : cuvmm::tools::kExitFailure;
}

// Ends cuvmm by the signal that ended the program, because a shell stops its script at Ctrl-C only
// if the signal ended the shell's child.
void die_of(int signal) {
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  cuvmm::tools::reserve_standard_descriptors();
  try {
    cuvmm::tools::CommandLine line;
    CLI::App app(
        "cuvmm finds misuse of the CUDA driver's memory APIs: virtual memory management, "
        "multicast, legacy IPC, external memory and stream-ordered pools. It needs no GPU: an "
        "emulated libcuda can stand in for the driver.",
        "cuvmm");
    app.formatter(std::make_shared<cuvmm::tools::HelpFormatter>());
    app.footer(kExamples);
    app.set_version_flag("--version", fmt::format("cuvmm {}", cuvmm::tools::kVersion),
                         "Print the version and exit");
    add_installed_folder(app, "--cmakedir", cuvmm::tools::kInstalledCMakeFolder,
                         "Print the folder for CMAKE_PREFIX_PATH or cuvmm_DIR, and exit");
    add_installed_folder(app, "--pkgconfigdir", cuvmm::tools::kInstalledPkgConfigFolder,
                         "Print the folder for PKG_CONFIG_PATH, and exit");
    app.require_subcommand(1);
    add_commands(app, line);
    cuvmm::tools::use_settings(app);
    const int code =
        finish(parse_and_run(app, std::vector<std::string>(argv + 1, argv + argc), line));
    if (line.signal != 0 && code == line.exit_code) die_of(line.signal);
    return code;
  } catch (const std::exception& error) {
    cuvmm::tools::print_error("cuvmm: {}\n", error.what());
    return cuvmm::tools::kExitFailure;
  }
}
