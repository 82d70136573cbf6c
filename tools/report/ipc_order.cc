// SPDX-License-Identifier: Apache-2.0
#include "tools/report/ipc_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>

#include "api/driver/driver.h"
#include "rulebook/base/violation.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

namespace {

struct Use {
  std::int64_t pid = 0;
  std::uint64_t call = 0, from = 0, ended_by = 0, until = 0;
  std::uint64_t began = 0;  // when the call that opened it began; 0 unknown
  bool pool = false;
  const Json* value = nullptr;   // the use in its process's report
  const Json* report = nullptr;  // that report, which has the stacks
};

std::uint64_t number(const Json& object, const char* key, bool& good) {
  const auto found = object.find(key);
  good = good && found != object.end() && found->is_number_unsigned();
  return good ? found->get<std::uint64_t>() : 0;
}

std::optional<Use> use_of(const Json& value, const ProcessReport& report) {
  bool good = true;
  Use use;
  use.pid = report.pid;
  use.call = number(value, "call", good);
  use.from = number(value, "from", good);
  use.ended_by = number(value, "ended_by_call", good);
  use.until = number(value, "until", good);
  bool known = true;
  use.began = number(value, "began", known);
  use.pool = value.contains("pool") && value["pool"] == true;
  use.value = &value;
  use.report = &report.value;
  return good ? std::optional(use) : std::nullopt;
}

// The stack whose number is a member of the use; empty if the process's report has no such stack.
Json stack_of(const Use& use, const char* member) {
  bool good = true;
  const std::uint64_t id = number(*use.value, member, good);
  const auto stacks = use.report->find("stacks");
  if (id == 0 || stacks == use.report->end()) return Json::array();
  const auto stack = stacks->find(std::to_string(id));
  return stack == stacks->end() ? Json::array() : *stack;
}

std::string pointer_of(const Use& use) {
  const auto pointer = use.value->find("pointer");
  return pointer != use.value->end() && pointer->is_string() ? pointer->get<std::string>() : "";
}

Json opened_object(const Use& open) {
  const auto kind = open.pool ? ObjectRef::Kind::kPoolMemory : ObjectRef::Kind::kIpcMemory;
  Json object = {{"what", name(kind)},
                 {"value", pointer_of(open)},
                 {"pid", open.pid},
                 {"made_by_call", open.call},
                 {"stack", stack_of(open, "stack")}};
  if (open.ended_by != 0) {
    object["ended_by_call"] = open.ended_by;
    object["ended_stack"] = stack_of(open, "ended_stack");
  }
  return object;
}

std::string message(const Use& freed, const Use& open) {
  const char* const closed = open.pool ? "freed" : "closed";
  const std::string end = open.ended_by
                              ? fmt::format("{} it {} us later, by its call {}", closed,
                                            (open.until - freed.until) / 1000, open.ended_by)
                              : fmt::format("had not {} it when it reported", closed);
  if (open.pool) {
    return fmt::format(
        "call {} freed memory of a pool that process {} had imported: call {} "
        "exported it, process {} imported it by its call {}, and {}",
        freed.ended_by, open.pid, freed.call, open.pid, open.call, end);
  }
  return fmt::format(
      "call {} freed memory that process {} had open: it opened the handle of "
      "call {} by its call {}, and {}",
      freed.ended_by, open.pid, freed.call, open.call, end);
}

Json finding(const Use& freed, const Use& open, std::size_t count) {
  const RuleInfo& rule = info(open.pool ? Rule::kPoolFreedWhileImported : Rule::kIpcFreedWhileOpen);
  const std::string pointer = pointer_of(freed);
  return {{"rule", rule.id},
          {"kind", name(rule.kind)},
          {"call", open.pool ? "cuMemFreeAsync" : "cuMemFree"},
          {"arguments", pointer.empty() ? Json::object() : Json{{"dptr", pointer}}},
          {"message", message(freed, open)},
          {"documented", Json::array()},
          {"result", "CUDA_SUCCESS"},
          {"call_index", freed.ended_by},
          {"stack", stack_of(freed, "ended_stack")},
          {"objects", Json::array({opened_object(open)})},
          {"fix", rule.fix},
          {"url", rule_url(rule.rule)},
          {"pid", freed.pid},
          {"count", count}};
}

// An import of memory that its exporter had freed before. The import succeeds on some drivers.
Json late_import(const Use& freed, const Use& open) {
  const RuleInfo& rule = info(Rule::kPoolTakeAlive);
  const std::string text = fmt::format(
      "process {} had freed this memory of its pool by its call {}, {} us before the import began: "
      "its call {} had exported it",
      freed.pid, freed.ended_by, (open.began - freed.until) / 1000, freed.call);
  const Json object = {{"what", name(ObjectRef::Kind::kPoolMemory)},
                       {"value", pointer_of(freed)},
                       {"pid", freed.pid},
                       {"made_by_call", freed.call},
                       {"stack", stack_of(freed, "stack")},
                       {"ended_by_call", freed.ended_by},
                       {"ended_stack", stack_of(freed, "ended_stack")}};
  return {{"rule", rule.id},
          {"kind", name(rule.kind)},
          {"call", "cuMemPoolImportPointer"},
          {"arguments", Json::object()},
          {"message", text},
          {"documented", Json::array({result_name(rule.code)})},
          {"result", "CUDA_SUCCESS"},
          {"call_index", open.call},
          {"stack", stack_of(open, "stack")},
          {"objects", Json::array({object})},
          {"fix", rule.fix},
          {"url", rule_url(rule.rule)},
          {"pid", open.pid},
          {"count", 1}};
}

// The uses of one handle: its exports, those of memory that was freed since, and memory that was
// open.
struct Uses {
  std::vector<Use> exported, freed, open;
};

// The imports that began after the exporter had freed the memory, unless the memory was exported
// again under the same handle.
void judge_late(Uses& uses, IpcFindings& result) {
  std::vector<Use>& exported = uses.exported;
  std::sort(exported.begin(), exported.end(),
            [](const Use& a, const Use& b) { return a.from < b.from; });
  for (const Use& open : uses.open) {
    if (!open.pool || open.began == 0) continue;
    const auto later =
        std::upper_bound(exported.begin(), exported.end(), open.began,
                         [](std::uint64_t time, const Use& one) { return time < one.from; });
    if (later == exported.begin()) continue;
    const Use& last = *std::prev(later);
    if (last.pid == open.pid || last.until == 0 || last.until >= open.began) continue;
    if (result.findings.size() == kMostIpcFindings) {
      ++result.left_out;
    } else {
      result.findings.push_back(late_import(last, open));
    }
  }
}

// The uses that are open at a time, by process and sorted by the time at which they are closed. The
// time only goes forward.
class OpenNow {
 public:
  explicit OpenNow(std::vector<Use>& uses) : uses_(uses) {
    std::sort(uses_.begin(), uses_.end(),
              [](const Use& a, const Use& b) { return a.from < b.from; });
  }

  // Goes on to `time`. A use counts as open then if it was opened at or before that time, and
  // closed after it.
  void advance(std::uint64_t time) {
    for (; next_ < uses_.size() && uses_[next_].from <= time; ++next_) {
      const Use& use = uses_[next_];
      by_process_[use.pid].insert({use.until, &use});
      ends_.push({use.until, &use});
    }
    for (; !ends_.empty() && ends_.top().first <= time; ends_.pop()) {
      const auto process = by_process_.find(ends_.top().second->pid);
      process->second.erase(ends_.top());
      if (process->second.empty()) by_process_.erase(process);
    }
  }

  using End = std::pair<std::uint64_t, const Use*>;  // time of closing, and the use
  const std::map<std::int64_t, std::set<End>>& by_process() const { return by_process_; }

 private:
  std::vector<Use>& uses_;
  std::size_t next_ = 0;
  std::map<std::int64_t, std::set<End>> by_process_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

void judge(Uses& uses, IpcFindings& result) {
  const auto key = [](const Use& use) { return std::tie(use.until, use.pid, use.ended_by); };
  std::vector<Use>& freed = uses.freed;
  std::sort(freed.begin(), freed.end(),
            [&](const Use& a, const Use& b) { return key(a) < key(b); });
  // A call frees a memory once, even if a process reports that twice.
  freed.erase(std::unique(freed.begin(), freed.end(),
                          [&](const Use& a, const Use& b) { return key(a) == key(b); }),
              freed.end());
  OpenNow now(uses.open);
  for (const Use& end : freed) {
    now.advance(end.until);
    std::size_t others = now.by_process().size() - now.by_process().count(end.pid);
    for (auto at = now.by_process().begin(); others > 0; ++at) {
      if (at->first == end.pid) continue;
      if (result.findings.size() == kMostIpcFindings) break;
      result.findings.push_back(finding(end, *at->second.rbegin()->second, at->second.size()));
      --others;
    }
    result.left_out += others;
  }
}

}  // namespace

IpcFindings ipc_order_findings(const std::vector<ProcessReport>& reports) {
  std::map<std::string, Uses> by_handle;
  for (const ProcessReport& report : reports) {
    if (!report.error.empty() || !report.value.contains("ipc")) continue;
    const Json& list = report.value["ipc"];
    if (!list.is_array()) continue;
    for (const Json& value : list) {
      if (!value.is_object() || !value.contains("role") || !value.contains("handle")) continue;
      if (!value["role"].is_string() || !value["handle"].is_string()) continue;
      const auto use = use_of(value, report);
      if (!use) continue;
      Uses& uses = by_handle[value["handle"].get<std::string>()];
      const bool exports = value["role"] == "export";
      if (exports) uses.exported.push_back(*use);
      if (exports && use->until != 0) uses.freed.push_back(*use);
      if (value["role"] == "open") uses.open.push_back(*use);
    }
  }
  IpcFindings result;
  for (auto& [handle, uses] : by_handle) {
    judge_late(uses, result);
    judge(uses, result);
  }
  return result;
}

}  // namespace cuvmm::tools
