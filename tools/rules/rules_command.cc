// SPDX-License-Identifier: Apache-2.0
// cuvmm rules [--format text|json|markdown] [--entry E] [--kind K] [--output FOLDER]
#include <algorithm>
#include <filesystem>
#include <memory>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/rules/rule_facts.h"
#include "tools/rules/rule_text.h"

namespace cuvmm::tools {

namespace {

struct Options {
  std::string format = "text";
  std::string entry;
  std::string kind;
  std::string output;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<Rule> chosen(const Options& options) {
  std::vector<Rule> result;
  for (const RuleInfo& it : rules()) {
    if (!options.kind.empty() && options.kind != name(it.kind)) continue;
    if (options.entry.empty() || of_every_function(it.rule) ||
        has(functions_of(it.rule), options.entry)) {
      result.push_back(it.rule);
    }
  }
  return result;
}

// Lists the functions only if the option is there, because that takes the cases of the whole suite.
CLI::Validator one_of_entries() {
  return CLI::Validator([](std::string& word) { return one_of(entry_names())(word); }, "");
}

void write_pages(const Options& options) {
  if (options.format != "markdown" || !options.entry.empty() || !options.kind.empty()) {
    throw UsageError{
        "--output writes the whole catalogue as Markdown pages: "
        "use it with --format markdown, without --entry and --kind"};
  }
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) throw UsageError{options.output + ": " + error.message()};
  for (const auto& [file, text] : rules_pages()) {
    const std::string problem = write_whole(options.output + "/" + file, text);
    if (!problem.empty()) throw UsageError{problem};
  }
}

}  // namespace

void add_rules(CLI::App& app, CommandLine&) {
  CLI::App* command = app.add_subcommand("rules", "List the rules");
  auto options = std::make_shared<Options>();
  command->add_option("--format", options->format, "Format of the list")
      ->check(one_of({"text", "json", "markdown"}))
      ->type_name("text|json|markdown")
      ->capture_default_str();
  command
      ->add_option("--entry", options->entry, "List only the rules of this function of the driver")
      ->check(one_of_entries())
      ->type_name("FUNCTION");
  command->add_option("--kind", options->kind, "List only the rules of this kind")
      ->check(one_of(kind_names()))
      ->type_name("error|undefined|leak|advice");
  command->add_option("--output", options->output, "Write the Markdown pages into this folder")
      ->type_name("FOLDER");
  command->footer(
      "Examples:\n"
      "  cuvmm rules --entry cuMemMap\n"
      "  cuvmm rules --format json --kind undefined\n"
      "  cuvmm rules --format markdown --output rules\n");
  command->allow_extras();
  command->callback([command, options] {
    refuse_unexpected(*command);
    if (!options->output.empty()) return write_pages(*options);
    const std::vector<Rule> list = chosen(*options);
    if (options->format == "json") {
      print_output("{}\n", rules_json(list).dump(2));
    } else if (options->format == "markdown") {
      print_output("{}", rules_markdown(list));
    } else {
      print_output("{}", rules_text(list));
    }
  });
}

}  // namespace cuvmm::tools
