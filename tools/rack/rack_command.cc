// SPDX-License-Identifier: Apache-2.0
// cuvmm rack: runs a program as the ranks of several emulated hosts on one NVLink fabric.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "rulebook/base/limits.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/installation/layout.h"
#include "tools/rack/ranks.h"
#include "tools/report/machine/machine_causes.h"
#include "tools/run/executable.h"
#include "tools/run/run.h"
#include "tools/run/run_options.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kRackExamples =
    "Examples:\n"
    "  cuvmm rack -- ./app                     two hosts of eight devices, a rank for each device\n"
    "  cuvmm rack --hosts 1 --devices 4 -- python3 train.py\n"
    "  cuvmm rack --hosts 2 --ranks 1 -- ./app  one rank on each host, with all its devices\n"
    "Each rank has the variables of torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ...).\n"
    "Hosts share memory and multicast objects by fabric handles only. The exit code is that of\n"
    "the rank that failed first, else that of `cuvmm run`.\n";

constexpr const char* kNoChannel = "no-channel";  // a profile, and no outage of the emulator

struct RackSettings {
  RunSettings run;
  Rack rack;
  int ranks = 0;  ///< on each host; 0: one for each device
  bool start = false;
};

// Options of `cuvmm run` that make no sense here.
constexpr const char* kNoMeaning[] = {"--driver", "--allow-multicast"};

// The words of the program that starts the ranks: this one.
std::vector<std::string> launcher(const RackSettings& settings) {
  std::vector<std::string> words = {own_folder() + "/cuvmm",
                                    "rack",
                                    "--start",
                                    "--hosts",
                                    std::to_string(settings.rack.hosts),
                                    "--ranks",
                                    std::to_string(settings.rack.ranks),
                                    "--grace",
                                    fmt::format("{}", settings.rack.grace_s)};
  if (!settings.run.outage.empty() && settings.run.outage != kNoChannel) {
    words.insert(words.end(), {"--outage", settings.run.outage});
  }
  words.emplace_back("--");
  words.insert(words.end(), settings.run.command.begin(), settings.run.command.end());
  return words;
}

}  // namespace

void add_rack(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("rack", "Run a program as the ranks of several emulated hosts");
  auto settings = std::make_shared<RackSettings>();
  auto emulate = std::make_shared<std::string>();
  command->add_option("--hosts", settings->rack.hosts, "Emulated hosts (default: 2)")
      ->type_name("N")
      ->check(whole_number(1, kMaxMachineDevices));
  command
      ->add_option("--ranks", settings->ranks,
                   "Processes on each host (default: one for each device)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command
      ->add_option("--grace", settings->rack.grace_s,
                   "How long other ranks may go on once one has failed (default: 10)")
      ->type_name("SECONDS")
      ->check(seconds(0));
  command->add_flag("--start", settings->start, "Start the ranks")->group("");
  command
      ->add_option("--outage", settings->run.outage,
                   "A trouble of the fabric that the emulator plays (docs/testing/rack.md)")
      ->type_name("NAME")
      ->check(one_of(outage_names()));
  add_run_options(*command, settings->run, *emulate);
  for (const char* option : kNoMeaning) command->get_option(option)->group("");
  command->footer(kRackExamples);
  command->callback([command, settings, emulate, &line] {
    take_run_options(settings->run, *command, *emulate, line);
    for (const char* option : kNoMeaning) {
      if (command->count(option) > 0) {
        throw UsageError{std::string(option) + " has no meaning here: only the emulator is run"};
      }
    }
    RunSettings& run_settings = settings->run;
    if (settings->start) {
      settings->rack.ranks = settings->ranks;
      settings->rack.outage = run_settings.outage;
      settings->rack.command = run_settings.command;
      line.exit_code = run_ranks(settings->rack);
      return;
    }
    constexpr int kDevices = 8;
    if (run_settings.devices == 0) run_settings.devices = kDevices;
    const int all = settings->rack.hosts * run_settings.devices;
    if (all > kMaxMachineDevices) {
      throw UsageError{fmt::format("{} hosts of {} devices are {} devices; a rack has at most {}",
                                   settings->rack.hosts, run_settings.devices, all,
                                   kMaxMachineDevices)};
    }
    settings->rack.ranks = settings->ranks > 0 ? settings->ranks : run_settings.devices;
    run_settings.emulate = true;
    const bool channel = run_settings.outage != kNoChannel;
    if (run_settings.profile.empty()) {
      run_settings.profile = channel ? "fabric-imex" : "fabric-no-channel";
    } else if (!channel) {
      throw UsageError{"--outage no-channel and --emulate=PROFILE exclude each other"};
    }
    const char* const path = std::getenv("PATH");
    const FoundProgram program = find_program(run_settings.command[0], path ? path : "");
    if (program.exit_code != 0) {
      print_error("cuvmm rack: {}\n", program.error);
      line.exit_code = program.exit_code;
      return;
    }
    run_settings.command = launcher(*settings);
    line.exit_code = run(std::move(run_settings), &line.signal);
  });
}

}  // namespace cuvmm::tools
