// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/blame.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "rulebook/catalogue/rule.h"
#include "tools/report/blame/owner.h"
#include "tools/report/report_merge.h"
#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

// The outermost frame of a package; without one, of a library of NVIDIA's; else of the system. A
// package comes first, because the system's library that called it (such as the one that starts
// threads) says less.
std::optional<std::size_t> outermost_library(const std::vector<frames::Frame>& frames) {
  for (const Owner wanted : {Owner::kPackage, Owner::kNvidia, Owner::kSystem}) {
    for (std::size_t i = frames.size(); i-- > 0;) {
      if (owner_of(frames[i]) == wanted) return i;
    }
  }
  return std::nullopt;
}

// The object whose "stack" decides the blame: the finding, whose stack is for a leak that of the
// object's maker. For a retained handle that was not released: the object with the call that
// retained it.
const Json* owner_of_stack(const Json* finding) {
  static const std::string kRetain = info(Rule::kRetainLeak).id;
  if (text_in(*finding, "rule") != kRetain) return finding;
  for (const Json& object : list_in(*finding, "objects")) {
    if (object.contains("retained_by_call")) return &object;
  }
  return finding;
}

void count_or_not(BlameTally& tally, const Json& finding,
                  const std::optional<std::string>& stranger) {
  if (!is_mistake(finding)) return;
  const std::uint64_t count = number_in(finding, "count");
  if (!stranger) {
    tally.counted = saturating_sum(tally.counted, count);
    return;
  }
  tally.left_out = saturating_sum(tally.left_out, count);
  std::uint64_t& of_code = tally.by_code[*stranger];
  of_code = saturating_sum(of_code, count);
}

}  // namespace

std::optional<Blamed> blame(const std::vector<frames::Frame>& frames, const OwnCode& own) {
  std::size_t behind_python = 0;  // the first frame behind the last function of Python
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].python()) behind_python = i + 1;
  }
  const bool cut = python_was_cut(frames);
  bool unread = false;  // Python functions ran, and the stack lacks their names
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const frames::Frame& frame = frames[i];
    if (behind_python == 0 && runs_python(frame)) unread = true;
    if (!own.holds(frame) && owner_of(frame) != Owner::kProgram &&
        (cut || !is_typed_program(frames, i)))
      continue;
    if (unread || (cut && i >= behind_python)) return std::nullopt;
    return Blamed{i, false};
  }
  if (unread || cut || !reaches_start(frames)) return std::nullopt;
  const std::optional<std::size_t> library = outermost_library(frames);
  return library ? std::optional(Blamed{*library, true}) : std::nullopt;
}

BlameTally blame_findings(Json& report, const OwnCode& own) {
  BlameTally tally;
  for (Json& finding : report["findings"]) {
    std::optional<std::string> stranger;
    const Json& owner = *owner_of_stack(&finding);
    const std::vector<frames::Frame> frames = frames_in(owner, "stack");
    if (const std::optional<Blamed> blamed = blame(frames, own)) {
      const frames::Frame& frame = frames[blamed->frame];
      Json judged = {{"frame", list_in(owner, "stack")[blamed->frame]},
                     {"code", name_of_code(frame)},
                     {"library", blamed->library}};
      if (!own.empty() && !own.holds(frame)) {
        stranger = name_of_code(frame);
        judged["counts"] = false;
      }
      finding["blamed"] = std::move(judged);
    }
    count_or_not(tally, finding, stranger);
  }
  if (!own.empty()) report["blame"] = {{"paths", own.words()}, {"left_out", tally.left_out}};
  return tally;
}

std::string blame_text(const BlameTally& tally, const OwnCode& own) {
  constexpr std::size_t kMostNamed = 4;
  if (tally.left_out == 0) return "";
  std::vector<std::pair<std::string, std::uint64_t>> codes(tally.by_code.begin(),
                                                           tally.by_code.end());
  std::ranges::stable_sort(codes, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string whose, paths;
  for (std::size_t i = 0; i < codes.size() && i < kMostNamed; ++i)
    whose += fmt::format("{}{} of {}", whose.empty() ? "" : ", ", codes[i].second, codes[i].first);
  if (codes.size() > kMostNamed) whose += fmt::format(" and {} more", codes.size() - kMostNamed);
  for (const std::string& word : own.words()) paths += (paths.empty() ? "" : ", ") + word;
  return harmless(fmt::format("cuvmm: {} not counted, because --blame counts {} alone: {}",
                              tally.left_out == 1 ? "1 is" : fmt::format("{} are", tally.left_out),
                              paths, whose)) +
         "\n";
}

}  // namespace cuvmm::tools
