// SPDX-License-Identifier: Apache-2.0
// Profiles as TOML: the reader, whose errors give the position, and the writer, whose texts read
// back the same.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "api/driver/driver.h"
#include "api/sizes.h"
#include "api/symbols/find_entry.h"
#include "rulebook/profile/profile.h"
#include "rulebook/profile/toml_text.h"

namespace cuvmm {

namespace {

// One table drives reading and writing of the plain fields.
struct StringField {
  const char* key;
  std::string Profile::*field;
};
constexpr StringField kStrings[] = {
    {"name", &Profile::name},         {"gpu", &Profile::gpu},       {"driver", &Profile::driver},
    {"recorded", &Profile::recorded}, {"source", &Profile::source}, {"about", &Profile::about},
};

struct SizeField {
  const char* key;
  std::uint64_t* (*field)(Profile&);
};
constexpr SizeField kSizes[] = {
    {"total_memory", [](Profile& p) { return &p.total_memory; }},
    {"device_granularity_minimum", [](Profile& p) { return &p.device_granularity_minimum; }},
    {"device_granularity_recommended",
     [](Profile& p) { return &p.device_granularity_recommended; }},
    {"host_granularity_minimum", [](Profile& p) { return &p.host_granularity_minimum; }},
    {"host_granularity_recommended", [](Profile& p) { return &p.host_granularity_recommended; }},
    {"multicast_granularity_minimum", [](Profile& p) { return &p.multicast_granularity_minimum; }},
    {"multicast_granularity_recommended",
     [](Profile& p) { return &p.multicast_granularity_recommended; }},
    {"multicast_unaligned_binds", [](Profile& p) { return &p.multicast_unaligned_binds; }},
    {"endpoint_bind_alignment", [](Profile& p) { return &p.endpoint_bind_alignment; }},
    {"endpoint_max_size", [](Profile& p) { return &p.endpoint_max_size; }},
    {"address_base", [](Profile& p) { return &p.address_base; }},
    {"clique_devices", [](Profile& p) { return &p.clique_devices; }},
    {"host_page", [](Profile& p) { return &p.platform.host_page; }},
    {"reserve_granularity", [](Profile& p) { return &p.platform.reserve_granularity; }},
    {"max_reservation", [](Profile& p) { return &p.platform.max_reservation; }},
    {"numa_nodes", [](Profile& p) { return &p.platform.numa_nodes; }},
};

// The verdict that the documentation implies, for a rule that a profile does not name.
Verdict documented_verdict(const RuleInfo& rule) {
  const bool refused =
      (rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined) && !rule.uncheckable;
  // Undefined behaviour without a code: no single process can notice it.
  if (!refused || rule.code == CUDA_SUCCESS) return {Verdict::Kind::kAccepts, CUDA_SUCCESS};
  return {Verdict::Kind::kCode, rule.code};
}

// A text of a profile is shown to people in a line, and written back into a file of ASCII.
constexpr std::size_t kLongestLine = 1000;
constexpr const char* kNoLine = "expected one line of at most 1000 printable ASCII characters";
bool is_line(const std::string& text) {
  return text.size() <= kLongestLine &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

class Reader {
 public:
  Reader(const toml::table& root, std::string origin) : root_(root), origin_(std::move(origin)) {}

  ProfileResult read() {
    for (const RuleInfo& rule : rules())
      profile_.verdicts[index(rule.rule)] = documented_verdict(rule);
    read_base();
    for (auto&& [key, node] : root_) {
      const std::string_view section = key.str();
      const toml::table* table = node.as_table();
      if (!table) {
        fail(node, "expected a section, such as [profile]");
      } else if (section == "profile") {
        read_profile(*table);
      } else if (section == "limits") {
        read_limits(*table);
      } else if (section == "attributes") {
        read_attributes(*table, profile_.attributes);
      } else if (section == "attributes_of_several") {
        read_attributes(*table, profile_.attributes_of_several);
      } else if (section == "verdicts") {
        read_verdicts(*table);
      } else if (section == "order") {
        read_order(*table);
      } else if (section == "quirks") {
        read_quirks(*table);
      } else if (section == "because") {
        read_because(*table);
      } else {
        fail(node, "unknown section [" + std::string(section) +
                       "]; expected profile, limits, attributes, attributes_of_several, verdicts, "
                       "order, quirks or because");
      }
    }
    if (error_.empty() && profile_.name.empty())
      error_ = origin_ + ": expected [profile] with a name";
    return {std::move(profile_), error_};
  }

 private:
  static std::size_t index(Rule rule) { return static_cast<std::size_t>(rule); }

  // Reports the first problem only.
  void fail(const toml::node& node, const std::string& what) {
    if (!error_.empty()) return;
    error_ = toml_mistake(origin_, node.source(), what);
  }

  // Fields that the file omits come from the base. A base must be a built-in profile, so no file
  // can name itself.
  void read_base() {
    const toml::node_view<const toml::node> base = root_["profile"]["base"];
    if (!base) return;
    const auto name = base.value_exact<std::string>();
    const std::vector<std::string> known = builtin_profiles();
    if (!name || std::ranges::find(known, *name) == known.end()) {
      std::string list;
      for (const std::string& one : known) list += (list.empty() ? "" : " or ") + one;
      return fail(*base.node(), "base: expected " + list);
    }
    profile_ = load_profile(*name).profile;
    profile_.name.clear();
  }

  void read_profile(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const std::string_view k = key.str();
      bool known = k == "base";
      for (const StringField& field : kStrings) {
        if (k != field.key) continue;
        known = true;
        if (auto text = node.value_exact<std::string>(); !text)
          fail(node, std::string(k) + ": expected a string");
        else if (!is_line(*text))
          fail(node, std::string(k) + ": " + kNoLine);
        else
          profile_.*field.field = *text;
      }
      if (k == "cuda_version") {
        known = true;
        if (auto number = node.value_exact<std::int64_t>())
          profile_.cuda_version = static_cast<int>(*number);
        else
          fail(node, "cuda_version: expected a number such as 13000");
      }
      if (!known) fail(node, "unknown key " + std::string(k) + " in [profile]");
    }
  }

  void read_limits(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const std::string_view k = key.str();
      bool known = false;
      for (const SizeField& field : kSizes) {
        if (k != field.key) continue;
        known = true;
        auto number = node.value_exact<std::int64_t>();
        if (number && *number >= 0)
          *field.field(profile_) = static_cast<std::uint64_t>(*number);
        else
          fail(node, std::string(k) + ": expected a number of bytes, not negative");
      }
      constexpr std::uint64_t kAddressesEnd = std::uint64_t{1} << 47;
      if (k == "address_base" &&
          (profile_.address_base % kGranule != 0 || profile_.address_base >= kAddressesEnd))
        fail(node, "address_base: expected a multiple of 2 MiB below 0x800000000000, or 0");
      if (k == "handle_types") {
        known = true;
        if (auto number = node.value_exact<std::int64_t>())
          profile_.platform.handle_types = static_cast<std::uint32_t>(*number);
        else
          fail(node, "handle_types: expected a mask of CUmemAllocationHandleType");
      } else if (k == "fabric_channel") {
        known = true;
        profile_.platform.fabric_channel_known = true;
        if (auto flag = node.value_exact<bool>())
          profile_.platform.fabric_channel = *flag;
        else
          fail(node, "fabric_channel: expected true or false");
      }
      if (!known) fail(node, "unknown key " + std::string(k) + " in [limits]");
    }
  }

  void read_attributes(const toml::table& table, std::map<int, int>& attributes) {
    for (auto&& [key, node] : table) {
      int number = 0;
      char rest = 0;
      const auto value = node.value_exact<std::int64_t>();
      if (std::sscanf(std::string(key.str()).c_str(), "%d%c", &number, &rest) != 1 || !value) {
        fail(node, "expected NUMBER = VALUE, the number being that of a CUdevice_attribute");
      } else {
        attributes[number] = static_cast<int>(*value);
      }
    }
  }

  void read_verdicts(const toml::table& table) {
    for (auto&& [key, node] : table) {
      // "RULE", or "ENTRY_POINT:RULE" for a rule of every entry point.
      const std::string_view whole = key.str();
      const std::size_t colon = whole.find(':');
      const bool special = colon != std::string_view::npos;
      const auto entry = special ? find_entry(whole.substr(0, colon)) : std::nullopt;
      const auto rule = find_rule(special ? whole.substr(colon + 1) : whole);
      const auto text = node.value_exact<std::string>();
      if (special && !entry) {
        fail(node, "no entry point " + std::string(whole.substr(0, colon)));
        continue;
      }
      if (!rule) {
        fail(node, "no rule " + std::string(key.str()) + " (cuvmm rules lists them)");
        continue;
      }
      Verdict& verdict =
          special ? profile_.entry_verdicts[{*entry, *rule}] : profile_.verdicts[index(*rule)];
      const CUresult code = (text ? result_from_name(*text) : std::nullopt).value_or(CUDA_SUCCESS);
      if (text == "accepts") {
        verdict = {Verdict::Kind::kAccepts, CUDA_SUCCESS};
      } else if (text == "crashes") {
        const CUresult documented = info(*rule).code;
        verdict = {Verdict::Kind::kCrashes,
                   documented == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : documented};
      } else if (code != CUDA_SUCCESS) {
        verdict = {Verdict::Kind::kCode, code};
      } else {
        fail(node,
             "expected \"accepts\", \"crashes\" or an error such as \"CUDA_ERROR_INVALID_VALUE\"");
      }
    }
  }

  void read_quirks(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const auto quirk = find_quirk(key.str());
      const auto flag = node.value_exact<bool>();
      if (!quirk || !flag) {
        fail(node, "expected QUIRK = true; rulebook/profile/quirk.cc has the list");
      } else {
        profile_.quirks[static_cast<std::size_t>(*quirk)] = *flag;
      }
    }
  }

  void read_because(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const std::string_view whole = key.str();
      const std::size_t colon = whole.find(':');
      const std::string_view function = whole.substr(0, colon);
      const auto entry = function == "any" ? EntryPoint::kCount : find_entry(function);
      const auto code = colon == std::string_view::npos ? std::nullopt
                                                        : result_from_name(whole.substr(colon + 1));
      const auto text = node.value_exact<std::string>();
      if (!entry || !code || !text) {
        fail(node, "expected \"ENTRY_POINT:CODE\" or \"any:CODE\" = \"REASON\"");
      } else if (!is_line(*text)) {
        fail(node, kNoLine);
      } else {
        profile_.because[{*entry, *code}] = *text;
      }
    }
  }

  void read_order(const toml::table& table) {
    for (auto&& [key, node] : table) {
      const auto entry = find_entry(key.str());
      const toml::array* ids = node.as_array();
      if (!entry || !ids) {
        fail(node, "expected ENTRY_POINT = [\"rule\", ...]");
        continue;
      }
      profile_.order.erase(*entry);  // the order of the base
      for (const toml::node& id : *ids) {
        const auto text = id.value_exact<std::string>();
        const auto rule = text ? find_rule(*text) : std::nullopt;
        if (rule)
          profile_.order[*entry].push_back(*rule);
        else
          fail(id, "no such rule (cuvmm rules lists them)");
      }
    }
  }

  const toml::table& root_;
  std::string origin_;
  Profile profile_{};
  std::string error_;
};

}  // namespace

ProfileResult parse_profile(std::string_view text, const std::string& origin) {
  const TomlResult result = read_toml(text, origin);
  if (!result.error.empty()) return {{}, result.error};
  return Reader(result.table, origin).read();
}

namespace {
// `text` as is_line() wants it, because a driver may give a device any name.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestLine)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out + '"';
}
}  // namespace

std::string format_profile(const Profile& profile) {
  Profile copy = profile;  // the field table hands out mutable pointers
  std::string out = "[profile]\n";
  for (const StringField& field : kStrings) {
    if (field.field == &Profile::about && copy.about.empty()) continue;
    out += std::string(field.key) + " = " + quoted(copy.*field.field) + "\n";
  }
  out += "cuda_version = " + std::to_string(copy.cuda_version) + "\n\n[limits]\n";
  for (const SizeField& field : kSizes)
    out += std::string(field.key) + " = " + std::to_string(*field.field(copy)) + "\n";
  out += "handle_types = " + std::to_string(copy.platform.handle_types) + "\n";
  if (copy.platform.fabric_channel_known) {
    out +=
        std::string("fabric_channel = ") + (copy.platform.fabric_channel ? "true" : "false") + "\n";
  }
  const auto attributes = [&](const char* section, const std::map<int, int>& values) {
    out += std::string("\n[") + section + "]\n";
    for (auto [number, value] : values)
      out += std::to_string(number) + " = " + std::to_string(value) + "\n";
  };
  attributes("attributes", copy.attributes);
  if (!copy.attributes_of_several.empty())
    attributes("attributes_of_several", copy.attributes_of_several);
  out += "\n[verdicts]\n";
  for (const RuleInfo& rule : rules()) {
    if (rule.uncheckable || rule.kind == RuleKind::kLeak) continue;
    out += "\"" + std::string(rule.id) + "\" = \"" +
           verdict_text(copy.verdicts[static_cast<std::size_t>(rule.rule)]) + "\"\n";
  }
  for (const auto& [key, verdict] : copy.entry_verdicts) {
    out += "\"" + std::string(name(key.first)) + ":" + info(key.second).id + "\" = \"" +
           verdict_text(verdict) + "\"\n";
  }
  out += "\n[order]\n";
  for (const auto& [entry, order] : copy.order) {
    out += std::string(name(entry)) + " = [";
    for (std::size_t i = 0; i < order.size(); ++i)
      out += (i ? ", \"" : "\"") + std::string(info(order[i]).id) + "\"";
    out += "]\n";
  }
  bool first = true;
  for (std::size_t i = 0; i < copy.quirks.size(); ++i) {
    if (!copy.quirks[i]) continue;
    if (first) out += "\n[quirks]\n";
    first = false;
    out += "\"" + std::string(info(static_cast<Quirk>(i)).id) + "\" = true\n";
  }
  if (!copy.because.empty()) out += "\n[because]\n";
  for (const auto& [key, reason] : copy.because) {
    const auto& [entry, code] = key;
    out += quoted((entry == EntryPoint::kCount ? "any" : name(entry)) + std::string(":") +
                  result_name(code)) +
           " = " + quoted(reason) + "\n";
  }
  return out;
}

}  // namespace cuvmm
