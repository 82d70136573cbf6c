#include "conformance/derive_profile.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "api/driver.h"

namespace cuvmm {

namespace {

// How the last call of a case ended; nothing when the case was skipped or did not get that far.
std::optional<Verdict> verdict_of(const Recording& recording, const std::string& name) {
  const auto it = recording.cases.find(name);
  if (it == recording.cases.end() || it->second.empty()) return std::nullopt;
  const std::string& last = it->second.back();
  const std::string code = last.substr(0, last.find(' '));
  if (code.rfind("signal:", 0) == 0)
    return Verdict{Verdict::Kind::kCrashes, CUDA_ERROR_INVALID_VALUE};
  const auto result = result_from_name(code);
  if (!result) return std::nullopt;
  if (*result == CUDA_SUCCESS) return Verdict{Verdict::Kind::kAccepts, CUDA_SUCCESS};
  return Verdict{Verdict::Kind::kCode, *result};
}

bool same(const Verdict& a, const Verdict& b) {
  return a.kind == b.kind && (a.kind != Verdict::Kind::kCode || a.code == b.code);
}

std::string text(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kAccepts:
      return "accepts";
    case Verdict::Kind::kCrashes:
      return "crashes";
    case Verdict::Kind::kCode:
      return result_name(verdict.code);
  }
  return "?";
}

// For one entry point: before[a] holds the rules that are checked after a.
using Graph = std::map<Rule, std::set<Rule>>;

// The rules of the graph, each before those that it precedes; ties in the order of the catalogue.
std::vector<Rule> sort(Graph graph, std::vector<std::string>& notes) {
  std::vector<Rule> order;
  std::set<Rule> left;
  for (const auto& [rule, after] : graph) {
    left.insert(rule);
    left.insert(after.begin(), after.end());
  }
  while (!left.empty()) {
    const auto free = std::find_if(left.begin(), left.end(), [&](Rule candidate) {
      return std::none_of(left.begin(), left.end(),
                          [&](Rule other) { return graph[other].contains(candidate); });
    });
    const Rule next = free == left.end() ? *left.begin() : *free;
    if (free == left.end()) {
      notes.push_back(std::string("the pairs contradict each other about the place of ") +
                      info(next).id);
    }
    order.push_back(next);
    left.erase(next);
  }
  return order;
}

class Deriver {
 public:
  Deriver(const Profile& base, const Recording& recording) : recording_(recording) {
    out_.profile = base;
  }

  DerivedProfile derive(const std::vector<Family>& families) {
    for (const Family& family : families) read_singles(family);
    for (const auto& [rule, verdict] : verdicts_) {
      Verdict& slot = out_.profile.verdicts[static_cast<std::size_t>(rule)];
      slot = verdict;
      if (slot.kind == Verdict::Kind::kCrashes) slot.code = info(rule).code;
    }
    for (const Family& family : families) read_pairs(family);
    for (auto& [entry, graph] : graphs_) out_.profile.order[entry] = sort(graph, out_.notes);
    for (const RuleInfo& rule : rules()) {
      if (!rule.uncheckable && rule.kind != RuleKind::kLeak && !verdicts_.contains(rule.rule)) {
        out_.notes.push_back(std::string("no case of a family settles ") + rule.id);
      }
    }
    return std::move(out_);
  }

 private:
  void read_singles(const Family& family) {
    for (const FamilyCase& each : singles(family)) {
      const auto verdict = verdict_of(recording_, each.name);
      if (!verdict) continue;
      if (each.rules.empty()) {
        if (verdict->kind != Verdict::Kind::kAccepts) {
          out_.notes.push_back(
              each.name + " is legal, and the driver " +
              (verdict->kind == Verdict::Kind::kCrashes ? "crashes" : "answers " + text(*verdict)));
        }
        continue;
      }
      const auto [it, first] = verdicts_.emplace(each.rules[0], *verdict);
      if (!first && !same(it->second, *verdict)) {
        out_.notes.push_back(each.name + " got " + text(*verdict) + ", another case of the rule " +
                             text(it->second));
      }
    }
  }

  // Two rules whose answers differ: the answer to both tells which is checked first.
  void read_pairs(const Family& family) {
    for (const FamilyCase& each : pairs(family)) {
      const auto both = verdict_of(recording_, each.name);
      const auto a = verdicts_.find(each.rules[0]);
      const auto b = verdicts_.find(each.rules[1]);
      if (!both || a == verdicts_.end() || b == verdicts_.end() || same(a->second, b->second))
        continue;
      const bool is_a = same(*both, a->second);
      const bool is_b = same(*both, b->second);
      if (is_a == is_b) {
        out_.notes.push_back(each.name + " got " + text(*both) + ", which is neither's answer");
        continue;
      }
      // A rule that the driver does not check has no place in the order.
      if (a->second.kind == Verdict::Kind::kAccepts || b->second.kind == Verdict::Kind::kAccepts)
        continue;
      Graph& graph = graphs_[info(each.rules[0]).entry];
      graph[is_a ? each.rules[0] : each.rules[1]].insert(is_a ? each.rules[1] : each.rules[0]);
    }
  }

  const Recording& recording_;
  DerivedProfile out_;
  std::map<Rule, Verdict> verdicts_;
  std::map<EntryPoint, Graph> graphs_;
};

}  // namespace

DerivedProfile derive_profile(const Profile& base, const std::vector<Family>& families,
                              const Recording& recording) {
  return Deriver(base, recording).derive(families);
}

}  // namespace cuvmm
