// SPDX-License-Identifier: Apache-2.0
// cuvmm predict FILE: names the machines on which a recorded program would fail, and its first call
// that fails.
#include <memory>

#include "rulebook/base/limits.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/replay/predict.h"

namespace cuvmm::tools {

void add_predict(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "predict", "Say on which other machines a recorded program would fail, and where");
  auto options = std::make_shared<PredictOptions>();
  command
      ->add_option("FILE", options->file,
                   "Program text or recorded trace (docs/program-text.md), - for standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("--on", options->profiles,
                   "Only these machines: built-in profiles or TOML files (docs/profiles.md)")
      ->type_name("PROFILE,...")
      ->delimiter(',');
  command
      ->add_option("--devices", options->devices,
                   "Devices of each machine, 1 to " + std::to_string(kMaxDevices) +
                       "; else as many as the program names")
      ->type_name("N")
      ->check(whole_number(1, kMaxDevices));
  command->add_option("--timeout", options->timeout_s, "Time limit of one statement, in seconds")
      ->type_name("SECONDS")
      ->check(seconds(0.001))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write the predictions as JSON");
  command->footer(
      "Examples:\n"
      "  cuvmm predict trace.txt                 on all machines that cuvmm knows\n"
      "  cuvmm predict --on wsl2,min trace.txt\n"
      "  cuvmm run --trace trace.txt -- ./app    records what a program calls\n"
      "Exits with 1 if a call that succeeded would fail on one of the machines.\n");
  command->allow_extras();
  command->callback([command, options, &line] {
    refuse_unexpected(*command);
    if (options->profiles.empty()) options->profiles = all_profiles();
    for (std::string& name : options->profiles) name = resolve_profile(name, "--on");
    line.exit_code = predict(*options);
  });
}

}  // namespace cuvmm::tools
