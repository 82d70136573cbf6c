// SPDX-License-Identifier: Apache-2.0
// cuvmm replay FILE: runs a program text, and compares the answers with the expected ones in the
// text.
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/replay/replay.h"

namespace cuvmm::tools {

void add_replay(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("replay", "Run a recorded program and compare its results");
  auto options = std::make_shared<ReplayOptions>();
  auto profile = std::make_shared<std::string>();
  command
      ->add_option("FILE", options->file,
                   "Program text (docs/program-text.md), - for standard input")
      ->required()
      ->type_name("");
  command->add_option("--driver", options->driver, "Run it on this libcuda")
      ->type_name("PATH")
      ->transform(driver_library());
  add_emulate(*command, *profile,
              "Run it on the emulator; PROFILE is a built-in profile or a TOML file");
  command->add_option("--timeout", options->timeout_s, "Time limit of one statement, in seconds")
      ->type_name("SECONDS")
      ->check(seconds(0.001))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write the results as JSON");
  command->add_flag(
      "--allow-multicast", options->allow_multicast,
      "Let multicast (cuMulticast*, cuLogicalEndpoint*, cuFabricCpy*) reach a real driver (it can "
      "disturb other users of the fabric)");
  command->footer(
      "Examples:\n"
      "  cuvmm replay trace.txt\n"
      "  cuvmm replay --emulate=documented --json trace.txt\n"
      "  cuvmm run -- cuvmm replay trace.txt    also reports findings\n"
      "Exits with 1 if a statement does not answer what its comment expects, dies, or cannot "
      "run.\n");
  command->allow_extras();
  command->callback([command, options, profile, &line] {
    refuse_unexpected(*command);
    options->emulate = command->count("--emulate") > 0;
    if (options->emulate && !options->driver.empty()) {
      throw UsageError{"--emulate and --driver exclude each other"};
    }
    options->profile = resolve_profile(*profile);
    line.exit_code = replay(*options);
  });
}

}  // namespace cuvmm::tools
