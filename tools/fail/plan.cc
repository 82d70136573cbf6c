// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "injected_failures/spec.h"

namespace cuvmm::tools {

namespace {

bool wanted(const Json& site, const std::vector<std::string>& patterns) {
  const std::string call = site.value("call", "");
  if (patterns.empty()) return !site.value("gives_up", false);
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return injected_failures::matches(pattern, call);
  });
}

}  // namespace

std::vector<CallSite> call_sites(const std::vector<Outcome>& plain,
                                 const std::vector<std::string>& patterns) {
  std::map<std::pair<std::string, std::string>, CallSite> sites;
  for (const Outcome& outcome : plain) {
    for (const ProcessLog& log : outcome.logs) {
      // Calls are counted in each process alone. One place may have several stacks in a log.
      std::map<std::pair<std::string, std::string>, std::uint64_t> calls;
      for (const Json& one : log.sites) {
        const std::string result = one.value("result", "");
        if (result.empty() || !wanted(one, patterns)) continue;
        const std::pair key{one.value("call", ""), one.value("site", "")};
        CallSite& site = sites[key];
        site.call = one.value("call", "");
        site.site = one.value("site", "");
        site.result = result;
        calls[key] += one.value("calls", std::uint64_t{0});
        site.calls = std::max(site.calls, calls[key]);
        if (site.stack.empty()) site.stack = one.value("stack", Json::array());
      }
    }
  }
  std::vector<CallSite> list;
  for (auto& [key, site] : sites) list.push_back(std::move(site));
  return list;
}

std::vector<Experiment> plan(const std::vector<CallSite>& sites, bool all) {
  std::vector<Experiment> experiments;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::uint64_t last = all ? std::max<std::uint64_t>(sites[i].calls, 1) : 1;
    for (std::uint64_t number = 1; number <= last; ++number) {
      for (const bool persistent : {false, true}) {
        Experiment one{i, number, persistent, 0, ""};
        one.spec = spec_of(sites[i], one);
        experiments.push_back(std::move(one));
      }
    }
  }
  return experiments;
}

std::string spec_of(const CallSite& site, const Experiment& experiment) {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  std::string result = site.result;
  if (result.starts_with(kPrefix)) result.erase(0, kPrefix.size());
  std::string count = std::to_string(experiment.number);
  if (experiment.persistent) {
    count += experiment.until == 0 ? "+" : ".." + std::to_string(experiment.until);
  }
  return fmt::format("{}[site={}]@{}={}", site.call, site.site, count, result);
}

}  // namespace cuvmm::tools
