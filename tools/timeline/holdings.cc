// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/holdings.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "tools/report/text/finding_text.h"

namespace cuvmm::tools {

namespace {

struct StackName {
  std::string folded = "?", site = "no stack is known";
};

StackName name_of_stack(const ProcessTimeline& timeline, std::uint32_t id) {
  StackName result;
  const Json& stack = list_in(timeline.stacks, std::to_string(id).c_str());
  if (stack.empty()) return result;
  result.folded.clear();
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    std::string function = text_in(*frame, "function");
    if (function.empty()) {
      const std::string module = text_in(*frame, "module");
      function = module.empty() ? "?" : module.substr(module.rfind('/') + 1);
    }
    // In folded stacks, a semicolon ends a name and a line break ends a line.
    std::replace_if(
        function.begin(), function.end(),
        [](char c) { return c == ';' || static_cast<unsigned char>(c) < 0x20; }, '?');
    result.folded += (result.folded.empty() ? "" : ";") + function;
  }
  result.site = frame_text(*site_of(stack));
  return result;
}

}  // namespace

std::int64_t moment_in(const ProcessTimeline& timeline, const ProcessTimeline& first,
                       const MomentOfRun& moment) {
  if (moment.peak) return timeline.peak_ns;
  return moment.ns - static_cast<std::int64_t>(timeline.start_ns - first.start_ns);
}

Holdings holdings_at(const std::vector<ProcessTimeline>& processes, const MomentOfRun& moment) {
  Holdings result;
  for (const ProcessTimeline& timeline : processes) {
    const std::int64_t ns = moment_in(timeline, processes.front(), moment);
    std::unordered_map<std::uint32_t, StackName> names;
    for (const Life& life : timeline.lives) {
      if (!life.lives_at(ns) || !is_physical(life.kind)) continue;
      const auto [name, fresh] = names.try_emplace(life.stack);
      if (fresh) name->second = name_of_stack(timeline, life.stack);
      Holding& holding = result[name->second.folded];
      holding.bytes += life.size;
      ++holding.count;
      if (holding.site.empty()) holding.site = name->second.site;
    }
  }
  return result;
}

std::optional<std::int64_t> parse_moment(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  const std::string unit(stop, end);
  const double scale = unit.empty() || unit == "s" ? 1e9
                       : unit == "ms"              ? 1e6
                       : unit == "us"              ? 1e3
                       : unit == "ns"              ? 1
                                                   : 0;
  if (scale == 0 || value * scale > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(value * scale);
}

}  // namespace cuvmm::tools
