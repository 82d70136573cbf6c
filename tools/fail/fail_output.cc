// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/fail_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "conformance/run/xml_text.h"
#include "tools/fail/outcome.h"

namespace cuvmm::tools {

namespace {

// Puts the word into single quotes, unless the shell leaves it unchanged without them.
std::string shell_word(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string mode_of(const Experiment& experiment) {
  const std::string which =
      experiment.number == 1 ? "" : fmt::format(", from call {} on", experiment.number);
  if (!experiment.persistent) {
    return experiment.number == 1 ? "once" : fmt::format("call {}", experiment.number);
  }
  if (experiment.until != 0)
    return fmt::format("calls {} to {}", experiment.number, experiment.until);
  return "always" + which;
}

std::map<Verdict, int> count_by_verdict(const Results& results) {
  std::map<Verdict, int> counts;
  for (std::size_t i = 0; i < results.sites.size(); ++i) {
    if (const Trial* trial = worst_trial(results, i)) ++counts[trial->judgement.verdict];
  }
  return counts;
}

}  // namespace

std::string run_line(const RunSettings& settings, const std::string& spec) {
  std::string line = "cuvmm run";
  if (settings.emulate) line += " --emulate";
  if (!settings.profile.empty()) line += "=" + shell_word(settings.profile);
  if (settings.devices > 0) line += fmt::format(" --devices {}", settings.devices);
  if (!settings.streams.empty()) line += " --streams=" + settings.streams;
  if (!settings.hostile.empty()) line += " --hostile " + settings.hostile;
  if (settings.python) line += " --python";
  if (!settings.driver.empty()) line += " --driver " + shell_word(settings.driver);
  if (!settings.async.empty()) line += " --async=" + settings.async;
  if (settings.unordered) line += " --unordered";
  if (settings.enforce) line += " --enforce";
  if (settings.allow_multicast) line += " --allow-multicast";
  if (!settings.leak_check.empty()) line += " --leak-check=" + settings.leak_check;
  if (!settings.suppressions.empty())
    line += " --suppressions " + shell_word(settings.suppressions);
  line += " --fail " + shell_word(spec) + " --";
  for (const std::string& word : settings.command) line += " " + shell_word(word);
  return line;
}

const Trial* worst_trial(const Results& results, std::size_t site) {
  const Trial* worst = nullptr;
  for (const Trial& trial : results.trials) {
    if (trial.experiment.site != site) continue;
    if (!worst || trial.judgement.verdict > worst->judgement.verdict) worst = &trial;
    // Of two trials with the same verdict, the one with fewer failures wins.
    const std::uint64_t until = trial.experiment.until, known = worst->experiment.until;
    const bool fewer = until != 0 && (known == 0 || until < known);
    if (fewer && trial.judgement.verdict == worst->judgement.verdict) worst = &trial;
  }
  return worst;
}

std::string campaign_text(const CampaignSettings& settings, const Results& results) {
  std::string text;
  std::size_t not_reached = 0;
  for (std::size_t i = 0; i < results.sites.size(); ++i) {
    const CallSite& site = results.sites[i];
    const Trial* const worst = worst_trial(results, i);
    if (!worst) continue;
    const std::string place = place_text(site.stack);
    text += fmt::format("{:<10}  {} in {} ({} call{})\n", verdict_name(worst->judgement.verdict),
                        site.call, place.empty() ? site.site : place, site.calls,
                        site.calls == 1 ? "" : "s");
    if (is_bad(worst->judgement.verdict)) {
      text += fmt::format("            fails {} with {}: {}\n            {}\n",
                          mode_of(worst->experiment), site.result, worst->judgement.what,
                          run_line(settings.run, worst->experiment.spec));
    }
  }
  double seconds = 0;
  for (const Trial& trial : results.trials) {
    seconds += trial.seconds;
    if (!trial.reached) ++not_reached;
  }
  text += fmt::format("{} site{}, {} run{}:", results.sites.size(),
                      results.sites.size() == 1 ? "" : "s", results.trials.size(),
                      results.trials.size() == 1 ? "" : "s");
  const char* separator = " ";
  for (const auto& [verdict, count] : count_by_verdict(results)) {
    text += fmt::format("{}{} {}", separator, count, verdict_name(verdict));
    separator = ", ";
  }
  text += '\n';
  if (!results.trials.empty()) {
    text += fmt::format("a run took {:.0f} ms on average\n",
                        1000 * seconds / static_cast<double>(results.trials.size()));
  }
  if (const auto& own = results.plain_findings; !own.empty()) {
    text += fmt::format(
        "without any failure of a call the program has {} already, which {} counted for no site "
        "(`cuvmm run` tells all): {}\n",
        own.size() == 1 ? "a finding" : fmt::format("{} findings", own.size()),
        own.size() == 1 ? "is" : "are", own.front());
  }
  if (not_reached != 0) {
    text += fmt::format(
        "in {} run{} the call never came: the program does not make the same calls each time\n",
        not_reached, not_reached == 1 ? "" : "s");
  }
  if (!results.output_compared) {
    text += "the output of the program differs from run to run, so it was not compared\n";
  }
  return text;
}

Json campaign_json(const CampaignSettings& settings, const Results& results) {
  Json sites = Json::array();
  for (std::size_t i = 0; i < results.sites.size(); ++i) {
    const CallSite& site = results.sites[i];
    const Trial* const worst = worst_trial(results, i);
    if (!worst) continue;
    Json runs = Json::array();
    for (const Trial& trial : results.trials) {
      if (trial.experiment.site != i) continue;
      runs.push_back({{"mode", trial.experiment.until != 0   ? "some"
                               : trial.experiment.persistent ? "always"
                                                             : "once"},
                      {"number", trial.experiment.number},
                      {"spec", trial.experiment.spec},
                      {"verdict", verdict_name(trial.judgement.verdict)},
                      {"what", trial.judgement.what},
                      {"reached", trial.reached},
                      {"seconds", trial.seconds},
                      {"command", run_line(settings.run, trial.experiment.spec)}});
    }
    sites.push_back({{"call", site.call},
                     {"site", site.site},
                     {"stack", site.stack},
                     {"calls", site.calls},
                     {"result", site.result},
                     {"verdict", verdict_name(worst->judgement.verdict)},
                     {"what", worst->judgement.what},
                     {"command", run_line(settings.run, worst->experiment.spec)},
                     {"runs", runs}});
  }
  Json summary = Json::object();
  for (const auto& [verdict, count] : count_by_verdict(results)) {
    summary[verdict_name(verdict)] = count;
  }
  return {{"schema", 1},
          {"program", settings.run.command},
          {"plain_seconds", results.plain_seconds},
          {"output_compared", results.output_compared},
          {"plain_findings", results.plain_findings},
          {"summary", summary},
          {"sites", sites}};
}

std::string campaign_junit(const CampaignSettings& settings, const Results& results) {
  std::string cases;
  int failures = 0;
  for (const Trial& trial : results.trials) {
    const CallSite& site = results.sites[trial.experiment.site];
    const std::string name =
        place_text(site.stack) + " " + mode_of(trial.experiment) + " " + site.site;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                         xml_text(site.call), xml_text(name), trial.seconds);
    if (!is_bad(trial.judgement.verdict)) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    const std::string verdict = verdict_name(trial.judgement.verdict);
    cases += fmt::format(">\n    <failure type=\"{}\" message=\"{}\">{}</failure>\n  </testcase>\n",
                         verdict, xml_text(verdict + ": " + trial.judgement.what),
                         xml_text(run_line(settings.run, trial.experiment.spec)));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"cuvmm fail\" tests=\"{}\" "
      "failures=\"{}\">\n{}</testsuite>\n",
      results.trials.size(), failures, cases);
}

}  // namespace cuvmm::tools
