// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/campaign.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "tools/base/atomic_file.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/fail/fail_output.h"
#include "tools/fail/fork_server.h"
#include "tools/fail/judge.h"
#include "tools/fail/known_trials.h"
#include "tools/fail/plan.h"
#include "tools/fail/runner.h"

namespace cuvmm::tools {

namespace {

constexpr int kPlainRuns = 2;  // two, to see which results differ without any failure
constexpr double kLongestPlain = 3600;

int campaign_failed(const std::string& message) {
  print_error("cuvmm fail: {}\n", message);
  return kExitFailure;
}

class Campaign {
 public:
  explicit Campaign(const CampaignSettings& settings)
      : settings_(settings), known_(settings.resume, settings.run.command) {
    at_once_ = settings.jobs > 0
                   ? settings.jobs
                   : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  int run() {
    if (settings_.fork_server) start_server();
    if (const std::string problem = learn(); !problem.empty()) return campaign_failed(problem);
    // The limit grows with at_once_, because runs beside each other slow each other down.
    timeout_s_ = settings_.timeout_s > 0 ? settings_.timeout_s
                                         : std::max(10.0, 20 * baseline_.seconds * at_once_);
    if (const std::string problem = try_all(plan(results_.sites, settings_.all));
        !problem.empty()) {
      return campaign_failed(problem);
    }
    if (settings_.minimise) {
      if (const std::string problem = minimise(); !problem.empty()) return campaign_failed(problem);
    }
    return conclude();
  }

 private:
  void start_server() {
    server_ = std::make_unique<ForkServer>(Job{settings_.run, {}});
    if (server_->problem().empty()) return;
    print_error("cuvmm fail: --fork-server: {}. Each run starts the program anew\n",
                server_->problem());
    server_.reset();
  }

  // Runs the program without failures, to learn its calls and its usual results.
  std::string learn() {
    const std::vector<Job> jobs(kPlainRuns, Job{settings_.run, {}});
    std::vector<Outcome> plain;
    // One run at a time, because the time limit of all later runs follows from these.
    run_jobs(
        jobs, 1, kLongestPlain,
        [&](std::size_t, Outcome outcome) { plain.push_back(std::move(outcome)); }, server_.get());
    for (const Outcome& outcome : plain) {
      if (!outcome.trouble.empty()) return "the plain run: " + outcome.trouble;
      if (outcome.timed_out) return "the program does not end by itself in time";
      if (outcome.exit_code != settings_.plain_exit) {
        return fmt::format(
            "the program fails without any failure of a call: its exit code is {}. It must succeed "
            "first; `cuvmm run` shows what it says. If that is how it ends well: --plain-exit {}",
            outcome.exit_code, outcome.exit_code);
      }
      baseline_.add(outcome);
    }
    results_.sites = call_sites(plain, settings_.calls);
    results_.plain_seconds = baseline_.seconds;
    results_.output_compared = baseline_.output_known;
    for (const auto* found : {&baseline_.findings, &baseline_.leaks}) {
      for (const auto& [key, tally] : *found) results_.plain_findings.push_back(tally.text);
    }
    return results_.sites.empty() ? "the program made no call that can be made to fail" : "";
  }

  std::string try_all(const std::vector<Experiment>& experiments) {
    std::vector<Job> jobs;
    std::vector<std::size_t> places;
    for (const Experiment& one : experiments) {
      Trial trial;
      if (const Trial* known = known_.find(one.spec)) {
        trial = *known;
      } else {
        Job job{settings_.run, {}};
        job.run.fail = one.spec;
        jobs.push_back(std::move(job));
        places.push_back(results_.trials.size());
      }
      trial.experiment = one;
      results_.trials.push_back(std::move(trial));
    }
    std::string trouble;
    run_jobs(
        jobs, at_once_, timeout_s_,
        [&](std::size_t job, const Outcome& outcome) {
          Trial& trial = results_.trials[places[job]];
          if (!outcome.trouble.empty()) {
            // The trial is not written to known_, because trouble of cuvmm says nothing of the
            // program: a resumed campaign tries it again.
            trouble = trial.experiment.spec + ": " + outcome.trouble;
            return;
          }
          trial.judgement = judge(baseline_, outcome);
          // A run that was killed leaves no log, so nobody knows whether the call came.
          trial.reached = outcome.injections() != 0 || outcome.timed_out;
          trial.seconds = outcome.seconds;
          known_.add(trial);
          if (!trial.reached && is_bad(trial.judgement.verdict)) {
            trial.judgement.what +=
                " (though the call never came: the program does this by itself)";
          }
        },
        server_.get());
    return trouble.empty() ? known_.problem() : trouble;
  }

  // For each place that is bad only if its call fails from some call on for ever: finds how many
  // failures are enough for the same verdict.
  std::string minimise() {
    for (std::size_t site = 0; site < results_.sites.size(); ++site) {
      const Trial* const worst = worst_trial(results_, site);
      if (!worst || !is_bad(worst->judgement.verdict) || !worst->experiment.persistent) continue;
      const Verdict wanted = worst->judgement.verdict;
      Experiment one = worst->experiment;
      // A program that repeats the call without an end needs endless failures, so the search gives
      // up at kMost.
      constexpr std::uint64_t kMost = 64;
      std::uint64_t low = 1, high = 2;
      for (; high <= kMost; low = high, high *= 2) {
        if (const auto same = fails_alike(one, high, wanted); !same.problem.empty()) {
          return same.problem;
        } else if (same.alike) {
          break;
        }
      }
      if (high > kMost) continue;
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        const auto same = fails_alike(one, middle, wanted);
        if (!same.problem.empty()) return same.problem;
        (same.alike ? high : low) = middle;
      }
    }
    return "";
  }

  struct Alike {
    std::string problem;
    bool alike = false;
  };
  Alike fails_alike(Experiment one, std::uint64_t failures, Verdict wanted) {
    one.until = one.number + failures - 1;
    one.spec = spec_of(results_.sites[one.site], one);
    std::string problem = try_all({one});
    const bool alike = results_.trials.back().judgement.verdict == wanted;
    if (!alike) results_.trials.pop_back();
    return {std::move(problem), alike};
  }

  int conclude() {
    const auto write = [](const char* option, const std::string& path, const std::string& text) {
      if (path.empty()) return true;
      const std::string problem = write_whole(path, text);
      if (!problem.empty()) print_error("cuvmm fail: {} {}: {}\n", option, path, problem);
      return problem.empty();
    };
    bool written = true;
    if (!settings_.json.empty()) {
      const Json json = campaign_json(settings_, results_);
      written = write("--json", settings_.json,
                      json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    if (!settings_.junit.empty()) {
      written = write("--junit", settings_.junit, campaign_junit(settings_, results_)) && written;
    }
    if (!settings_.run.quiet) write_output(campaign_text(settings_, results_));
    if (!written) return kExitFailure;
    const bool bad = std::ranges::any_of(
        results_.trials, [](const Trial& trial) { return is_bad(trial.judgement.verdict); });
    return bad ? kExitDifference : 0;
  }

  const CampaignSettings& settings_;
  KnownTrials known_;
  std::unique_ptr<ForkServer> server_;  ///< null: each run starts the program
  int at_once_ = 1;
  double timeout_s_ = 0;
  Baseline baseline_;
  Results results_;
};

}  // namespace

int run_campaign(const CampaignSettings& settings) {
  for (const auto& [option, path] :
       {std::pair{"--json", settings.json}, std::pair{"--junit", settings.junit}}) {
    if (path.empty()) continue;
    const std::string problem = cannot_write(path);
    if (!problem.empty()) return campaign_failed(std::string(option) + " " + path + ": " + problem);
  }
  return Campaign(settings).run();
}

}  // namespace cuvmm::tools
