// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/rules/rule_facts.h"
#include "tools/rules/rule_text.h"

namespace cuvmm::tools {

namespace {

struct AreaTitle {
  const char* area;
  const char* title;
};
constexpr AreaTitle kTitles[] = {
    {"general", "Every entry point"},
    {"address_range", "Address ranges: cuMemAddressReserve, cuMemAddressFree"},
    {"allocation", "Physical memory: cuMemCreate, cuMemRelease and queries"},
    {"map", "Mappings: cuMemMap, cuMemUnmap"},
    {"access", "Access: cuMemSetAccess, cuMemGetAccess"},
    {"memory", "Plain memory: cuMemAlloc, cuMemHostAlloc, cuMemFree and their like"},
    {"data", "Copies and fills of mapped memory"},
    {"order", "Launches, and the memory that they are given"},
    {"kernel", "Kernels: what their threads read and write, and where they meet"},
    {"copy", "Copies with attributes, batches of them, and decompression"},
    {"stream_memory",
     "Stream memory operations: cuStreamWaitValue*, cuStreamWriteValue*, "
     "cuStreamBatchMemOp"},
    {"managed", "Prefetching, advising and discarding: cuMemPrefetch*, cuMemAdvise, cuMemDiscard*"},
    {"share", "Sharing: export and import of allocations"},
    {"range_handle", "Handles of address ranges: cuMemGetHandleForAddressRange"},
    {"multicast", "Multicast: cuMulticast*"},
    {"endpoint", "Logical endpoints: cuLogicalEndpoint* and cuFabricCpyBatchAsync"},
    {"ipc", "Legacy IPC: cuIpc*"},
    {"external_memory",
     "External memory: cuImportExternalMemory, and buffers and arrays mapped from it"},
    {"external_semaphore", "External semaphores"},
    {"array", "CUDA arrays: cuMipmappedArrayGetLevel, cuArrayDestroy, cuMipmappedArrayDestroy"},
    {"map_array", "Sparse arrays: cuMemMapArrayAsync"},
    {"pool", "Stream-ordered pools: cuMemPool* and cuMemAllocFromPoolAsync"},
    {"pool_attribute", "Behaviour of a pool: its attributes, cuMemPoolTrimTo, cuMemPoolGetAccess"},
    {"current_pool", "Default and current pools of a device or another place"},
    {"location_info", "Location of memory: cuMemGetLocationInfo"},
};

constexpr const char* kGenerated = "<!-- Written by `cuvmm rules --format markdown`. -->\n";

std::string title_of(const std::string& area) {
  for (const AreaTitle& known : kTitles) {
    if (area == known.area) return known.title;
  }
  return area;
}

// Escapes the characters that have a meaning in Markdown; `|` would end a table's cell.
std::string escape(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '\\' || c == '[' || c == ']') result += '\\';
    result += c;
  }
  return result;
}

std::string row(const char* label, const std::string& text) {
  return fmt::format("| {} | {} |\n", label, escape(text));
}

}  // namespace

std::string rule_section(Rule rule) {
  const RuleInfo& it = info(rule);
  // The anchor is explicit, because Markdown's own anchor of a heading is in lower case.
  std::string text = fmt::format("## <a id=\"{0}\"></a>{0}\n\n**{1}**: {2}\n\n", it.id,
                                 name(it.kind), escape(it.requirement));
  text += "| | |\n|---|---|\n";
  text += row("Call",
              entry_text(it) + (*it.parameter ? std::string(", parameter ") + it.parameter : ""));
  text += row("Code", code_text(it));
  if (const std::string question = question_text(it); !question.empty()) {
    text += row("Question", question);
  }
  if (const char* why = why_forbidden(rule)) text += row("Forbidden, though accepted", why);
  text += row("Since", "CUDA " + version_text(it.since));
  text += row("Source", it.source);
  text += row("Fix", it.fix);
  if (it.uncheckable) text += row("Not checked", it.uncheckable);
  for (const DriverBehaviour& driver : driver_behaviours(rule)) {
    text += row(fmt::format("Driver `{}`", driver.profile).c_str(), driver.answer);
  }
  if (const std::string example = example_of(rule); !example.empty()) {
    text += fmt::format("\nA program that breaks it:\n\n```\n{}```\n", example);
  }
  return text;
}

namespace {

std::string page(const std::string& area, const std::vector<Rule>& chosen) {
  std::string text = fmt::format("{}# {}\n", kGenerated, title_of(area));
  for (Rule rule : chosen) {
    if (area_of(rule) == area) text += "\n" + rule_section(rule);
  }
  return text;
}

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const RuleInfo& it : rules()) all.push_back(it.rule);
  return all;
}

// The areas of the chosen rules, in the order of the catalogue.
std::vector<std::string> areas_of(const std::vector<Rule>& chosen) {
  std::vector<std::string> areas;
  for (Rule rule : chosen) {
    if (std::find(areas.begin(), areas.end(), area_of(rule)) == areas.end()) {
      areas.push_back(area_of(rule));
    }
  }
  return areas;
}

std::string link_to(const RuleInfo& it) {
  return fmt::format("[{0}]({1}.md#{0})", it.id, area(it.rule));
}

// The rules that a program asks about by the call itself.
std::string questions(const std::vector<Rule>& all) {
  std::string text = "\n## Questions\n\n| rule | question |\n|---|---|\n";
  for (Rule rule : all) {
    const std::string question = question_text(info(rule));
    if (!question.empty()) text += fmt::format("| {} | {} |\n", link_to(info(rule)), question);
  }
  return text;
}

// The rules whose code is inferred, and whose broken calls a recorded driver accepts.
std::string forbidden(const std::vector<Rule>& all) {
  std::string text =
      "\n## Errors that a driver accepts\n\n| error or undefined, although a driver accepts it | "
      "why |\n|---|---|\n";
  for (Rule rule : all) {
    const char* why = why_forbidden(rule);
    if (why) text += fmt::format("| {} | {} |\n", link_to(info(rule)), escape(why));
  }
  return text;
}

std::string contents(const std::vector<Rule>& all) {
  const auto unchecked = std::count_if(all.begin(), all.end(),
                                       [](Rule rule) { return info(rule).uncheckable != nullptr; });
  std::string text = fmt::format(
      "{}# Rules\n\nThere are {} rules, and cuvmm checks {} of them. The others say why no program "
      "can check them. "
      "[findings.md](../findings.md) explains the kinds.\n",
      kGenerated, all.size(), all.size() - static_cast<std::size_t>(unchecked));
  for (const std::string& area : areas_of(all)) {
    text += fmt::format("\n## [{}]({}.md)\n\n| rule | kind | requirement |\n|---|---|---|\n",
                        title_of(area), area);
    for (Rule rule : all) {
      if (area_of(rule) != area) continue;
      const RuleInfo& it = info(rule);
      text += fmt::format("| {} | {}{} | {} |\n", link_to(it), name(it.kind),
                          it.uncheckable ? ", not checked" : "", escape(it.requirement));
    }
  }
  return text + questions(all) + forbidden(all);
}

}  // namespace

std::map<std::string, std::string> rules_pages() {
  const std::vector<Rule> all = all_rules();
  std::map<std::string, std::string> pages = {{"README.md", contents(all)}};
  for (const std::string& area : areas_of(all)) pages[area + ".md"] = page(area, all);
  return pages;
}

std::string rules_markdown(const std::vector<Rule>& chosen) {
  std::string text;
  for (const std::string& area : areas_of(chosen)) {
    text += (text.empty() ? "" : "\n") + page(area, chosen);
  }
  return text;
}

}  // namespace cuvmm::tools
