// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/derive_profile.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "api/driver/driver.h"
#include "api/symbols/find_entry.h"

namespace cuvmm::conformance {

namespace {

std::optional<Verdict> verdict_of(const std::string& last) {
  const std::string code = last.substr(0, last.find(' '));
  if (code.rfind("signal:", 0) == 0)
    return Verdict{Verdict::Kind::kCrashes, CUDA_ERROR_INVALID_VALUE};
  const auto result = result_from_name(code);
  if (!result) return std::nullopt;
  if (*result == CUDA_SUCCESS) return Verdict{Verdict::Kind::kAccepts, CUDA_SUCCESS};
  return Verdict{Verdict::Kind::kCode, *result};
}

// The outcome of a case's last call; nothing if the case was skipped or did not reach it.
std::optional<Verdict> verdict_of(const Recording& recording, const std::string& name) {
  const auto it = recording.cases.find(name);
  if (it == recording.cases.end() || it->second.empty()) return std::nullopt;
  return verdict_of(it->second.back());
}

bool same(const Verdict& a, const Verdict& b) {
  return a.kind == b.kind && (a.kind != Verdict::Kind::kCode || a.code == b.code);
}

// For one entry point: before[a] holds the rules that are checked after a.
using Graph = std::map<Rule, std::set<Rule>>;

// The rules of the graph, sorted so that each comes before the rules that are checked after it;
// ties in the order of the catalogue.
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

  DerivedProfile derive(const std::vector<Family>& families, const std::vector<Case>& cases) {
    for (const Family& family : families) read_singles(family);
    for (const Case& each : cases) read_case(each);
    settle_every_entry_point();
    for (const Family& family : families) read_pairs(family);
    for (const Case& each : cases) read_case_of_several(each);
    for (const auto& [rule, verdict] : verdicts_) {
      out_.profile.verdicts[static_cast<std::size_t>(rule)] = complete(rule, verdict);
    }
    for (auto& [entry, graph] : graphs_) out_.profile.order[entry] = sort(graph, out_.notes);
    for (const RuleInfo& rule : rules()) {
      if (!rule.uncheckable && rule.kind != RuleKind::kLeak && !verdicts_.contains(rule.rule)) {
        out_.notes.push_back(std::string("no case of a family settles ") + rule.id);
      }
    }
    return std::move(out_);
  }

 private:
  // Whether the legal call succeeds. If it does not, the other cases of its family show nothing.
  bool shows_something(const Family& family) const {
    const auto legal = verdict_of(recording_, family.name + "/legal");
    return !legal || legal->kind == Verdict::Kind::kAccepts;
  }

  void read_singles(const Family& family) {
    const bool shown = shows_something(family);
    for (const FamilyCase& each : singles(family)) {
      if (!shown && !each.rules.empty()) continue;
      const auto verdict = verdict_of(recording_, each.name);
      if (!verdict) continue;
      if (each.rules.empty()) {
        if (verdict->kind != Verdict::Kind::kAccepts) {
          out_.notes.push_back(each.name + " is legal, and the driver " +
                               (verdict->kind == Verdict::Kind::kCrashes
                                    ? "crashes"
                                    : "answers " + verdict_text(*verdict)));
        }
        continue;
      }
      if (info(each.rules[0]).entry == EntryPoint::kCount) {
        by_entry_[each.rules[0]].try_emplace(
            find_entry(family.call.function).value_or(EntryPoint::kCount), *verdict);
        continue;
      }
      const auto [it, first] = verdicts_.emplace(each.rules[0], *verdict);
      if (!first && !same(it->second, *verdict)) {
        out_.notes.push_back(each.name + " got " + verdict_text(*verdict) +
                             ", another case of the rule " + verdict_text(it->second));
      }
    }
  }

  // A crash is recorded with the documented code, which the emulator answers in place of a crash.
  static Verdict complete(Rule rule, Verdict verdict) {
    if (verdict.kind == Verdict::Kind::kCrashes) {
      const CUresult documented = info(rule).code;
      verdict.code = documented == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : documented;
    }
    return verdict;
  }

  /// The one call of a hand-written case that breaks rules, and its answer.
  struct Broken {
    EntryPoint entry = EntryPoint::kCount;
    std::vector<Rule> rules;
    Verdict verdict;
  };
  std::optional<Broken> broken_by(const Case& each) const {
    const auto it = recording_.cases.find(each.name);
    if (it == recording_.cases.end() || each.file.empty()) return std::nullopt;
    const auto& statements = each.program.statements;
    const auto breaks = [](const Statement& s) { return !s.breaks.empty(); };
    if (std::count_if(statements.begin(), statements.end(), breaks) != 1) return std::nullopt;
    const auto at = std::find_if(statements.begin(), statements.end(), breaks);
    const auto index = static_cast<std::size_t>(at - statements.begin());
    const auto verdict = index < it->second.size() ? verdict_of(it->second[index]) : std::nullopt;
    if (!verdict) return std::nullopt;
    Broken broken{find_entry(at->function).value_or(EntryPoint::kCount), {}, *verdict};
    for (const std::string& id : at->breaks) {
      if (const auto rule = find_rule(id)) broken.rules.push_back(*rule);
    }
    return broken;
  }

  // Reads a case that no family can express, such as a call before cuInit.
  void read_case(const Case& each) {
    const auto broken = broken_by(each);
    if (!broken || broken->rules.size() != 1) return;
    const Rule rule = broken->rules[0];
    if (info(rule).entry != EntryPoint::kCount) {
      verdicts_.try_emplace(rule, broken->verdict);
    } else if (broken->entry != EntryPoint::kCount) {
      by_entry_[rule].try_emplace(broken->entry, broken->verdict);
    }
  }

  // Reads a call that always breaks several rules. An answer that fits no known verdict belongs to
  // the only rule whose verdict is unknown. The rule that an answer belongs to is checked before
  // the others.
  void read_case_of_several(const Case& each) {
    const auto broken = broken_by(each);
    if (!broken || broken->rules.size() < 2) return;
    std::vector<Rule> owners, unknown;
    for (const Rule rule : broken->rules) {
      const auto known = verdicts_.find(rule);
      if (known == verdicts_.end()) {
        unknown.push_back(rule);
      } else if (same(known->second, broken->verdict)) {
        owners.push_back(rule);
      }
    }
    if (owners.empty() && unknown.size() == 1) {
      verdicts_.emplace(unknown[0], broken->verdict);
      owners = unknown;
    }
    if (owners.size() != 1) return;
    for (const Rule rule : broken->rules) {
      const auto known = verdicts_.find(rule);
      const Verdict& other =
          known == verdicts_.end() ? out_.profile.verdict(broken->entry, rule) : known->second;
      if (same(other, broken->verdict) || other.kind == Verdict::Kind::kAccepts) continue;
      graphs_[broken->entry][owners[0]].insert(rule);
    }
  }

  // The rule gets the verdict of most entry points; the others get verdicts of their own.
  void settle_every_entry_point() {
    for (const auto& [rule, verdicts] : by_entry_) {
      const Verdict* usual = nullptr;
      std::ptrdiff_t most = 0;
      for (const auto& [entry, verdict] : verdicts) {
        const auto votes = std::count_if(
            verdicts.begin(), verdicts.end(),
            [&verdict = verdict](const auto& other) { return same(other.second, verdict); });
        if (votes > most) usual = &verdict, most = votes;
      }
      verdicts_[rule] = *usual;
      for (const auto& [entry, verdict] : verdicts) {
        out_.profile.entry_verdicts.erase({entry, rule});
        if (!same(verdict, *usual))
          out_.profile.entry_verdicts[{entry, rule}] = complete(rule, verdict);
      }
    }
  }

  // If two rules have different answers, the answer to both shows which rule is checked first.
  void read_pairs(const Family& family) {
    if (!shows_something(family)) return;
    for (const FamilyCase& each : pairs(family)) {
      const auto both = verdict_of(recording_, each.name);
      const auto a = verdicts_.find(each.rules[0]);
      const auto b = verdicts_.find(each.rules[1]);
      if (!both || a == verdicts_.end() || b == verdicts_.end() || same(a->second, b->second))
        continue;
      const bool is_a = same(*both, a->second);
      const bool is_b = same(*both, b->second);
      if (is_a == is_b) {
        out_.notes.push_back(each.name + " got " + verdict_text(*both) +
                             ", which is neither's answer");
        continue;
      }
      // A rule that the driver does not check has no place in the order.
      if (a->second.kind == Verdict::Kind::kAccepts || b->second.kind == Verdict::Kind::kAccepts)
        continue;
      // The entry point of the call, not that of the rules, because the data rules belong to every
      // one.
      Graph& graph = graphs_[find_entry(family.call.function).value_or(EntryPoint::kCount)];
      graph[is_a ? each.rules[0] : each.rules[1]].insert(is_a ? each.rules[1] : each.rules[0]);
    }
  }

  const Recording& recording_;
  DerivedProfile out_;
  std::map<Rule, Verdict> verdicts_;
  /// The verdicts by entry point, for rules of every entry point.
  std::map<Rule, std::map<EntryPoint, Verdict>> by_entry_;
  std::map<EntryPoint, Graph> graphs_;
};

}  // namespace

DerivedProfile derive_profile(const Profile& base, const std::vector<Family>& families,
                              const std::vector<Case>& cases, const Recording& recording) {
  return Deriver(base, recording).derive(families, cases);
}

}  // namespace cuvmm::conformance
