// SPDX-License-Identifier: Apache-2.0
// cuvmm doctor: says which memory APIs work on this machine, and why the others do not.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/doctor_output.h"
#include "tools/doctor/preflight/forms.h"
#include "tools/installation/layout.h"

namespace cuvmm::tools {

namespace {

struct DoctorSettings {
  std::string driver, emulated_profile, root;
  std::vector<std::string> needed;
  std::string form;
  bool emulate = false, json = false, preflight = false;
  double limit_s = 10;
};

constexpr int kExitUnmet = 1;

void refuse_unknown(const std::vector<std::string>& needed) {
  std::vector<std::string> known;
  std::string list;
  for (const doctor::CheckInfo& info : doctor::check_table()) {
    known.emplace_back(info.id);
    list += (list.empty() ? "" : ", ") + known.back();
  }
  for (const std::string& name : needed) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = did_you_mean(name, known);
    throw UsageError{"--need: there is no check '" + name + "'" + (meant.empty() ? "." : meant) +
                     " The checks are " + list};
  }
}

// The node's name as the cluster has it.
std::string node_name() {
  if (const char* const named = std::getenv("NODE_NAME"); named && *named) return named;
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

int print_preflight(const DoctorSettings& settings, std::span<const doctor::Check> checks,
                    double seconds) {
  const auto usual = doctor::usual_needs();
  doctor::Preflight preflight = doctor::judge_preflight(
      checks, settings.needed.empty() ? usual : std::span<const std::string>(settings.needed));
  preflight.seconds = seconds;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const doctor::Form& form = *doctor::find_form(settings.form);
  print_output("{}", form.text(preflight, {node_name(), now.count()}));
  return form.exit_code(preflight);
}

int diagnose(const DoctorSettings& settings) {
  refuse_unknown(settings.needed);
  doctor::DoctorOptions options;
  options.host = doctor::Host(settings.root);
  options.limit = std::chrono::milliseconds(static_cast<long>(settings.limit_s * 1000));
  if (!settings.driver.empty()) {
    options.driver = std::filesystem::absolute(settings.driver).string();
  } else if (settings.emulate) {
    const LayoutResult layout = find_layout(own_folder());
    if (!layout.error.empty()) {
      print_error("cuvmm doctor: {}\n", layout.error);
      return kExitFailure;
    }
    options.driver = layout.layout.emulator;
    const std::string profile = resolve_profile(settings.emulated_profile);
    if (!profile.empty()) setenv("CUVMM_PROFILE", profile.c_str(), 1);
  } else {
    options.driver = doctor::chosen_driver("");
  }
  options.nvml = doctor::nvml_beside(options.driver);
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<doctor::Check> checks = doctor::diagnose(options);
  if (settings.preflight) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return print_preflight(settings, checks, took.count());
  }
  print_output("{}", settings.json ? doctor::doctor_json(checks)
                                   : doctor::doctor_text(checks, settings.needed));
  return doctor::unmet(checks, settings.needed).empty() ? 0 : kExitUnmet;
}

}  // namespace

void add_doctor(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "doctor", "List the features that work on this machine, and how to make the others work");
  auto s = std::make_shared<DoctorSettings>();
  command->add_flag("--json", s->json, "Write JSON");
  command
      ->add_option("--need", s->needed,
                   "Exit with 1 unless these checks work: names from the output, with commas")
      ->type_name("LIST")
      ->delimiter(',');
  command->add_flag("--preflight", s->preflight,
                    "Judge the node in under 10 seconds: what is wrong, how bad it is for work "
                    "that needs the checks of --need (else driver, devices, vmm, fd), and which "
                    "step mends it");
  std::vector<std::string> names;
  std::string list;
  for (const doctor::Form& form : doctor::forms()) {
    names.emplace_back(form.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  command->add_option("--form", s->form, "The form of a preflight: " + list)
      ->type_name("NAME")
      ->check(one_of(names))
      ->default_val("text");
  command->add_option("--driver", s->driver, "Ask this libcuda, and the libnvidia-ml beside it")
      ->type_name("PATH")
      ->transform(driver_library());
  add_emulate(*command, s->emulated_profile,
              "Ask the emulator; PROFILE is a built-in profile or a TOML file");
  command->add_option("--timeout", s->limit_s, "How long one question to the driver may take")
      ->type_name("SECONDS")
      ->check(seconds(0.001))
      ->default_val(10.0);
  command->add_option("--root", s->root, "A folder that stands for the machine's files")
      ->group("");  // for tests
  command->footer(
      "Exits with 0 if all of --need works, else with 1; with --preflight as docs/doctor.md says.\n"
      "Examples:\n"
      "  cuvmm doctor\n"
      "  cuvmm doctor --preflight --form npd    as a plugin of the node problem detector\n"
      "  cuvmm doctor --need vmm,fd,pidfd    in an init container\n"
      "  cuvmm doctor --json | jq '.checks[] | select(.status != \"works\")'\n");
  command->allow_extras();
  command->callback([command, s, &line] {
    refuse_unexpected(*command);
    s->emulate = command->count("--emulate") > 0;
    const bool forms = command->count("--form") > 0;
    if (forms && !s->preflight) throw UsageError{"--form is the form of --preflight; give both"};
    if (s->json && forms) throw UsageError{"--json and --form both name a form; give one of them"};
    if (s->json && s->preflight) s->form = "json";
    // Two rounds of questions, where the first finds a driver that does not start.
    constexpr double kPreflightLimit = 4;
    if (s->preflight && command->count("--timeout") == 0) s->limit_s = kPreflightLimit;
    if (s->emulate && !s->driver.empty())
      throw UsageError{"--driver and --emulate both name a driver; give one of them"};
    line.exit_code = diagnose(*s);
  });
}

}  // namespace cuvmm::tools
