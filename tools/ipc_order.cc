#include "tools/ipc_order.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <string>

#include "spec/rule.h"

namespace cuvmm {

namespace {

struct Use {
  std::int64_t pid = 0;
  std::uint64_t call = 0, from = 0, ended_by = 0, until = 0;
};

std::uint64_t number(const Json& object, const char* key, bool& good) {
  const auto found = object.find(key);
  good = good && found != object.end() && found->is_number_unsigned();
  return good ? found->get<std::uint64_t>() : 0;
}

std::optional<Use> use_of(const Json& value, std::int64_t pid) {
  bool good = true;
  Use use;
  use.pid = pid;
  use.call = number(value, "call", good);
  use.from = number(value, "from", good);
  use.ended_by = number(value, "ended_by_call", good);
  use.until = number(value, "until", good);
  return good ? std::optional(use) : std::nullopt;
}

Json finding(const Use& freed, const Use& open) {
  const RuleInfo& rule = info(Rule::kIpcFreedWhileOpen);
  const std::string end = open.ended_by
                              ? fmt::format("closed it {} us later, by its call {}",
                                            (open.until - freed.until) / 1000, open.ended_by)
                              : std::string("had not closed it when it reported");
  return {{"rule", rule.id},
          {"kind", name(rule.kind)},
          {"call", "cuMemFree"},
          {"arguments", Json::object()},
          {"message",
           fmt::format("call {} freed memory that process {} had open: it opened the handle of "
                       "call {} by its call {}, and {}",
                       freed.ended_by, open.pid, freed.call, open.call, end)},
          {"documented", Json::array()},
          {"result", "CUDA_SUCCESS"},
          {"call_index", freed.ended_by},
          {"stack", Json::array()},
          {"objects", Json::array()},
          {"fix", rule.fix},
          {"url", rule_url(rule.rule)},
          {"pid", freed.pid},
          {"count", 1u}};
}

}  // namespace

std::vector<Json> ipc_order_findings(const std::vector<ProcessReport>& reports) {
  std::multimap<std::string, Use> freed, open;
  for (const ProcessReport& report : reports) {
    if (!report.error.empty() || !report.value.contains("ipc")) continue;
    const Json& list = report.value["ipc"];
    if (!list.is_array()) continue;
    for (const Json& value : list) {
      if (!value.is_object() || !value.contains("role") || !value.contains("handle")) continue;
      if (!value["role"].is_string() || !value["handle"].is_string()) continue;
      const auto use = use_of(value, report.pid);
      if (!use) continue;
      const std::string role = value["role"], handle = value["handle"];
      if (role == "export" && use->until != 0) freed.emplace(handle, *use);
      if (role == "open") open.emplace(handle, *use);
    }
  }
  std::vector<Json> findings;
  for (const auto& [handle, end] : freed) {
    const auto [first, last] = open.equal_range(handle);
    for (auto at = first; at != last; ++at) {
      const Use& use = at->second;
      // Open for sure before the free had ended, and after.
      if (use.pid == end.pid || use.from > end.until || use.until <= end.until) continue;
      findings.push_back(finding(end, use));
    }
  }
  return findings;
}

}  // namespace cuvmm
