// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/compare.h"

#include <algorithm>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::fuzz::flight {

namespace {

// The rules that the shim must find, and the rules that it may find.
class Expected {
 public:
  void may(Rule rule) { allowed_.push_back(rule); }
  void must(Rule rule) { must_one_of({rule}); }
  void must_one_of(std::vector<Rule> rules) {
    allowed_.insert(allowed_.end(), rules.begin(), rules.end());
    demanded_.push_back(std::move(rules));
  }
  std::string problem(const std::vector<Rule>& found) const {
    const auto among = [](const std::vector<Rule>& rules, Rule rule) {
      return std::find(rules.begin(), rules.end(), rule) != rules.end();
    };
    for (const Rule rule : found) {
      if (among(allowed_, rule)) continue;
      if (!is_flight(rule) && info(rule).kind == RuleKind::kAdvice) continue;
      return std::string("a finding without a cause: ") + info(rule).id;
    }
    for (const auto& rules : demanded_) {
      const bool any =
          std::any_of(rules.begin(), rules.end(), [&](Rule rule) { return among(found, rule); });
      if (!any) return std::string("no finding for ") + info(rules.front()).id;
    }
    return {};
  }

 private:
  std::vector<Rule> allowed_;
  std::vector<std::vector<Rule>> demanded_;
};

}  // namespace

Compared compare(const Opinion& opinion, const History& history, const std::map<int, bool>& before,
                 const std::map<int, bool>& after, const std::vector<Rule>& found) {
  Compared out;
  Expected wanted;
  out.robbed = opinion.lost || !opinion.vain.empty();
  for (const Suspect& suspect : opinion.suspects) {
    if (suspect.doubtful) {
      wanted.may(opinion.certain);
      if (!suspect.may_be_known) wanted.may(opinion.uncertain);
    }
    if (!before.at(suspect.stream)) continue;
    out.robbed = true;
    // The work may still have enough access.
    const bool loses_all = opinion.certain == Rule::kUnmapInFlight;
    const bool over = history.piece(suspect.node).over;
    const bool still = after.at(suspect.stream) && !over;
    // A shim that has queried other streams may know more about them than the program does.
    const bool last =
        suspect.last && std::all_of(suspect.beside.begin(), suspect.beside.end(), [&](Node node) {
          return history.truly_hangs_on(node, suspect.node);
        });
    if (still) out.must_fault |= loses_all && last && !suspect.marked && !suspect.idle;
    if (suspect.unseen || suspect.doubtful) continue;
    if (last) wanted.may(opinion.certain);
    // The shim may be unsure with what the legacy stream is busy. A program that may know that the
    // work is over gets no finding about a missing wait.
    if ((!last || suspect.legacy) && !suspect.may_be_known) wanted.may(opinion.uncertain);
    if (!still || suspect.may_be_seen_over || (suspect.may_be_known && (!last || suspect.legacy)))
      continue;
    if (!last) {
      wanted.must(opinion.uncertain);
    } else if (suspect.legacy) {
      wanted.must_one_of({opinion.certain, opinion.uncertain});
    } else {
      wanted.must(opinion.certain);
    }
  }
  for (const Node allocation : opinion.early) {
    const History::Piece& piece = history.piece(allocation);
    if (!history.stream(piece.stream).live && !piece.may_be_known)
      wanted.may(Rule::kDataPoolOrdered);
    if (!before.at(piece.stream)) continue;
    out.robbed = true;
    if (piece.may_be_known) continue;
    const bool still = after.at(piece.stream) && !piece.over;
    still ? wanted.must(Rule::kDataPoolOrdered) : wanted.may(Rule::kDataPoolOrdered);
  }
  for (const Rule rule : opinion.perhaps_vain) wanted.may(rule);
  for (const Rule rule : opinion.vain) wanted.must(rule);
  out.problem = wanted.problem(found);
  return out;
}

}  // namespace cuvmm::fuzz::flight
