// SPDX-License-Identifier: Apache-2.0
// cuvmm explain RULE
#include <filesystem>
#include <memory>
#include <string>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"
#include "tools/installation/layout.h"
#include "tools/rules/rule_facts.h"
#include "tools/rules/rule_text.h"

namespace cuvmm::tools {

namespace {

// The folder with the pages of rules: that of the installation, or of the build. "" if this build
// has no pages.
std::string documents() {
  for (const char* folder : {"../share/doc/cuvmm", "../docs"}) {
    const auto found = std::filesystem::path(own_folder()) / folder;
    std::error_code none;
    if (std::filesystem::is_directory(found / "rules", none)) {
      return found.lexically_normal().string();
    }
  }
  return "";
}

}  // namespace

void add_explain(CLI::App& app, CommandLine&) {
  CLI::App* command = app.add_subcommand("explain", "Explain a rule that a finding names");
  auto ids = std::make_shared<std::vector<std::string>>();
  command->add_option("RULE", *ids, "Ids of rules, as findings name them")->required();
  command->footer(
      "Examples:\n"
      "  cuvmm explain cuMemMap-offset-zero\n"
      "  cuvmm explain cuMemUnmap-mapped cuMemRelease-handle-valid\n"
      "`cuvmm rules` lists all rules.\n");
  command->allow_extras();
  command->callback([command, ids] {
    refuse_unexpected(*command);
    for (const std::string& id : *ids) {
      if (!find_rule(id)) {
        const std::string near = did_you_mean(id, rule_ids());
        throw UsageError{"no rule is called '" + id + "'" +
                         (near.empty() ? "; `cuvmm rules` lists them" : near)};
      }
    }
    const std::string folder = documents();
    const char* between = "";
    for (const std::string& id : *ids) {
      print_output("{}{}", between, explain_text(*find_rule(id), folder));
      between = "\n";
    }
  });
}

}  // namespace cuvmm::tools
