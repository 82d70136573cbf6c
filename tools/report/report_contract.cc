// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_contract.h"

#include <algorithm>
#include <functional>
#include <span>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostComplaints = 8;

using Test = bool (*)(const Json&);

struct Member {
  const char* key;
  Test good;
  const char* expected;
  const char* otherwise = nullptr;  // JSON that replaces a missing or wrong member
};

bool is_string(const Json& value) { return value.is_string(); }
bool is_flag(const Json& value) { return value.is_boolean(); }
bool is_count(const Json& value) { return value.is_number_unsigned(); }
bool is_integer(const Json& value) { return value.is_number_integer(); }
bool is_pid(const Json& value) { return is_count(value) && value <= 0x7fffffffu; }
bool is_object(const Json& value) { return value.is_object(); }
bool is_list(const Json& value) { return value.is_array(); }
bool is_positive(const Json& value) { return is_count(value) && value != 0u; }

bool all(const Json& values, Test good) { return std::all_of(values.begin(), values.end(), good); }
bool is_strings(const Json& value) { return value.is_array() && all(value, is_string); }
bool is_texts_by_name(const Json& value) { return value.is_object() && all(value, is_string); }

bool has(const Json& object, const char* key, Test good) {
  const auto found = object.find(key);
  return found != object.end() && good(*found);
}
bool may_have(const Json& object, const char* key, Test good) {
  const auto found = object.find(key);
  return found == object.end() || good(*found);
}

bool is_driver(const Json& value) {
  return value.is_null() || (value.is_object() && has(value, "path", is_string) &&
                             has(value, "version", is_integer) && has(value, "emulated", is_flag));
}

bool is_numbers(const Json& value) { return value.is_array() && all(value, is_count); }
bool is_frame(const Json& value) {
  return value.is_object() && has(value, "function", is_string) &&
         has(value, "module", is_string) && has(value, "offset", is_count) &&
         may_have(value, "file", is_string) && may_have(value, "line", is_count) &&
         may_have(value, "language", is_string) && may_have(value, "source", is_string);
}
bool is_stack(const Json& value) { return value.is_array() && all(value, is_frame); }
bool is_stacks(const Json& value) { return value.is_object() && all(value, is_stack); }

bool is_object_of_finding(const Json& value) {
  return value.is_object() && has(value, "what", is_string) &&
         has(value, "made_by_call", is_count) && has(value, "stack", is_stack) &&
         may_have(value, "value", is_string) && may_have(value, "size", is_count) &&
         may_have(value, "name", is_string) && may_have(value, "scope", is_string) &&
         may_have(value, "pid", is_pid) && may_have(value, "ranges", is_strings) &&
         may_have(value, "regions", is_strings) && may_have(value, "region_count", is_positive) &&
         may_have(value, "retained_by_call", is_positive) &&
         may_have(value, "made_by", is_string) && may_have(value, "ended_by", is_string) &&
         may_have(value, "ended_by_call", is_count) && may_have(value, "ended_stack", is_stack);
}
bool is_objects(const Json& value) { return value.is_array() && all(value, is_object_of_finding); }

bool is_end(const Json& value) {
  return value.is_object() && has(value, "what", is_string) && has(value, "value", is_string) &&
         may_have(value, "stack", is_stack) && may_have(value, "call", is_string);
}
bool is_queued(const Json& value) { return value.is_object() && has(value, "call", is_string); }
bool is_ends(const Json& value) { return value.is_array() && all(value, is_end); }
bool is_queue(const Json& value) { return value.is_array() && all(value, is_queued); }
bool is_fault(const Json& value) {
  return value.is_object() && has(value, "result", is_string) && has(value, "message", is_string) &&
         has(value, "call", is_string) && has(value, "stack", is_stack) &&
         has(value, "ended", is_ends) && has(value, "queued", is_queue) &&
         may_have(value, "address", is_string) && may_have(value, "near", is_strings) &&
         may_have(value, "file", is_string);
}

bool is_sum(const Json& value) {
  return value.is_object() && has(value, "what", is_string) && has(value, "count", is_positive) &&
         has(value, "bytes", is_count) && may_have(value, "made_at", is_string) &&
         may_have(value, "made_there", is_count);
}
bool is_sums(const Json& value) { return value.is_array() && all(value, is_sum); }

bool is_relative(const Json& value) {
  return value.is_object() && has(value, "pid", is_pid) && has(value, "rule", is_string);
}
bool is_related(const Json& value) { return value.is_array() && all(value, is_relative); }

// Only such ids stay, because the summary prints them in a command that the user may type.
bool is_rule_id(const Json& value) {
  if (!value.is_string()) return false;
  const std::string& id = value.get_ref<const std::string&>();
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

bool is_kind(const Json& value) {
  const auto kinds = {RuleKind::kError, RuleKind::kUndefined, RuleKind::kLeak, RuleKind::kAdvice,
                      RuleKind::kAnswer};
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](RuleKind kind) { return value == name(kind); });
}

bool is_blamed(const Json& value) {
  return value.is_object() && has(value, "frame", is_frame) && has(value, "code", is_string) &&
         has(value, "library", is_flag) && may_have(value, "counts", is_flag);
}

constexpr Member kReport[] = {
    {"pid", is_pid, "a process id"},
    {"ended", is_string, "a string"},
    {"driver", is_driver, "an object with \"path\", \"version\" and \"emulated\""},
    {"suppressed", is_count, "a count"},
    {"expected", is_count, "a count"},
    {"unused_suppressions", is_strings, "a list of strings"},
    {"leaks_judged", is_flag, "true or false"},
    {"undecided", is_numbers, "a list of counts"},
    {"ended_by_thread", is_count, "a thread's number"},
    {"unawaited_use", is_string, "a string"},
    {"perhaps_unawaited_use", is_string, "a string"},
    {"in_use", is_sums, "a list of objects with \"what\", \"count\" and \"bytes\""},
    {"ended_with_context", is_sums, "a list of objects with \"what\", \"count\" and \"bytes\""},
    {"in_use_listed", is_flag, "true"},
    {"leaks_not_looked_for", is_numbers, "a list of process ids"},
    {"escaped", is_strings, "a list of strings"},
    {"ipc", is_list, "a list"},
    {"stacks", is_stacks, "an object of lists of frames"},
    {"fault", is_fault, "an object with \"result\", \"call\", \"ended\" and \"queued\""},
};
constexpr Member kFindingMust[] = {
    {"rule", is_rule_id, "letters, digits, - and _"},
    {"kind", is_kind, "error, undefined, leak, advice or answer"},
    {"call", is_string, "a string"},
    {"message", is_string, "a string"},
    {"count", is_positive, "a count of 1 or more"},
};
constexpr Member kFindingMay[] = {
    {"runtime", is_string, "a string"},
    {"arguments", is_texts_by_name, "an object of strings", "{}"},
    {"documented", is_strings, "a list of strings", "[]"},
    {"result", is_string, "a string", "\"\""},
    {"enforced", is_flag, "true"},
    {"call_index", is_count, "a number", "0"},
    {"stack", is_stack, "a list of frames", "[]"},
    {"objects", is_objects, "a list of objects", "[]"},
    {"memory", is_string, "a string"},
    {"related", is_related, "a list of objects with \"pid\" and \"rule\""},
    {"blamed", is_blamed, "an object with \"frame\", \"code\" and \"library\""},
    {"scope", is_string, "a string"},
    {"ranges", is_strings, "an array of strings"},
    {"handled", is_count, "a count"},
    {"fix", is_string, "a string", "\"\""},
    {"url", is_string, "a string", "\"\""},
};

constexpr Member kRefusalMust[] = {
    {"call", is_string, "a string"},
    {"result", is_string, "a string"},
    {"count", is_positive, "a count of 1 or more"},
};
constexpr Member kRefusalMay[] = {
    {"arguments", is_texts_by_name, "an object of strings", "{}"},
    {"stack", is_stack, "a list of frames", "[]"},
    {"driver_message", is_string, "a string", "\"\""},
    {"facts", is_object, "an object", "{}"},
    {"runtime", is_string, "a string"},
    {"rule", is_rule_id, "letters, digits, - and _"},
    {"handled", is_count, "a count"},
    {"of_earlier_work", is_flag, "true"},
    {"forked_from", is_positive, "a number"},
    {"printed", is_flag, "true"},
    {"unchecked", is_flag, "true"},
    {"call_index", is_count, "a number", "0"},
};

class Enforcer {
 public:
  explicit Enforcer(ReportOf of) : of_(of) {}
  std::vector<std::string> run(Json& report) {
    for (const Member& member : kReport) optional(report, member, "");
    counts(report, "calls");
    counts(report, "alive");
    if (report.contains("work")) counts(report, "work");
    strings(report, "unchecked");
    if (report.contains("unchecked_calls")) strings(report, "unchecked_calls");
    strings(report, "notes");
    if (!report.contains("findings") || !report["findings"].is_array()) {
      complain("\"findings\"", "a list");
      report["findings"] = Json::array();
    }
    entries(report["findings"], "finding ", kFindingMust, kFindingMay);
    optional(report, {"refusals", is_list, "a list", "[]"}, "");
    entries(report["refusals"], "refusal ", kRefusalMust, kRefusalMay);
    if (complaints_ > kMostComplaints) {
      lines_.push_back("and " + std::to_string(complaints_ - kMostComplaints) +
                       " more things in it are not as docs/report.md says");
    }
    return std::move(lines_);
  }

 private:
  void complain(const std::string& what, const std::string& expected) {
    if (++complaints_ > kMostComplaints) return;
    lines_.push_back(what + " was left out: expected " + expected);
  }

  void optional(Json& object, const Member& member, const std::string& where) {
    const auto found = object.find(member.key);
    const bool there = found != object.end();
    if (there && member.good(*found)) return;
    if (there) complain(where + "\"" + member.key + "\"", member.expected);
    if (member.otherwise) {
      object[member.key] = Json::parse(member.otherwise);
    } else if (there) {
      object.erase(found);
    }
  }

  // Keeps those elements of a list or members of an object for which `good` holds.
  void filter(Json& values, const std::function<bool(const std::string& key, Json&)>& good) {
    Json valid = values.is_array() ? Json::array() : Json::object();
    for (auto&& [key, value] : values.items()) {
      if (!good(key, value)) continue;
      if (values.is_array()) {
        valid.push_back(std::move(value));
      } else {
        valid[key] = std::move(value);
      }
    }
    values = std::move(valid);
  }

  void counts(Json& report, const char* key) {
    optional(report, {key, is_object, "an object"}, "");
    if (!report.contains(key)) return;
    filter(report[key], [&](const std::string& name, Json& value) {
      if (is_count(value)) return true;
      complain("\"" + name + "\" of \"" + key + "\"", "a count");
      return false;
    });
  }

  void strings(Json& report, const char* key) {
    optional(report, {key, is_list, "a list"}, "");
    if (!report.contains(key)) return;
    filter(report[key], [&](const std::string& index, Json& value) {
      if (value.is_string()) return true;
      complain("element " + index + " of \"" + key + "\"", "a string");
      return false;
    });
  }

  void entries(Json& list, const std::string& what, std::span<const Member> must,
               std::span<const Member> may) {
    filter(list, [&](const std::string& index, Json& entry) {
      const std::string where = what + index;
      if (!entry.is_object()) return complain(where, "an object"), false;
      for (const Member& member : must) {
        if (has(entry, member.key, member.good)) continue;
        complain(where, std::string("\"") + member.key + "\" to be " + member.expected);
        return false;
      }
      if (of_ == ReportOf::kProcess) {
        for (const char* const of_runner : {"related", "blamed"}) entry.erase(of_runner);
      }
      for (const Member& member : may) optional(entry, member, where + ": ");
      return true;
    });
  }

  const ReportOf of_;
  std::size_t complaints_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> enforce_contract(Json& report, ReportOf of) {
  return Enforcer(of).run(report);
}

}  // namespace cuvmm::tools
