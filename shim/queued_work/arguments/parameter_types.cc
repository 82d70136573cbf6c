// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/parameter_types.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace cuvmm::shim {

namespace {

using std::string_view;

constexpr std::uint32_t kPointerSize = 8;

string_view trimmed(string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool strip_end(string_view& text, string_view end) {
  if (!text.ends_with(end)) return false;
  text = trimmed(text.substr(0, text.size() - end.size()));
  return true;
}

string_view unqualified(string_view type) {
  type = trimmed(type);
  while (strip_end(type, " const") || strip_end(type, " volatile") ||
         strip_end(type, " __restrict__") || strip_end(type, " __restrict") ||
         strip_end(type, " restrict")) {
  }
  return type;
}

bool opens(char c) { return c == '(' || c == '<' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == '>' || c == ']' || c == '}'; }

/// Splits a list at commas outside of all brackets. nullopt if the brackets do not match: an
/// operator's name among template arguments can have one bracket too many.
std::optional<std::vector<string_view>> split(string_view list) {
  std::vector<string_view> parts;
  if (trimmed(list).empty()) return parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (opens(list[i])) ++depth;
    if (closes(list[i]) && --depth < 0) return {};
    if (list[i] != ',' || depth != 0) continue;
    parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  if (depth != 0) return {};
  parts.push_back(list.substr(begin));
  return parts;
}

/// The text between the last parentheses. nullopt if the name does not end with parentheses.
std::optional<string_view> parameter_list(string_view name) {
  while (name.ends_with(']')) {
    const std::size_t clone = name.rfind(" [clone ");
    if (clone == string_view::npos) return {};
    name = name.substr(0, clone);
  }
  if (!name.ends_with(')')) return {};
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return name.substr(i + 1, name.size() - i - 2);
  }
  return {};
}

/// "float*", "int const*", "float (*) [4]"; not a pointer to a function or to a member.
bool is_pointer(string_view type) {
  type = unqualified(type);
  if (type.ends_with(']')) return type.find("(*)") != string_view::npos;
  return type.ends_with('*') && !type.ends_with("::*");
}

// Only pointers to these types count as read-only, because a structure may hold pointers to data
// that is not const.
constexpr string_view kNumbers[] = {"bool",  "char",           "signed char", "unsigned char",
                                    "short", "unsigned short", "int",         "unsigned int",
                                    "long",  "unsigned long",  "long long",   "unsigned long long",
                                    "float", "double",         "__half",      "__nv_bfloat16"};

/// "float const*", "unsigned int const volatile*".
bool only_reads(string_view pointer) {
  string_view pointee = unqualified(pointer);
  if (!strip_end(pointee, "*")) return false;
  bool constant = false;
  for (;;) {
    if (strip_end(pointee, " const")) {
      constant = true;
    } else if (!strip_end(pointee, " volatile")) {
      break;
    }
  }
  return constant &&
         std::find(std::begin(kNumbers), std::end(kNumbers), pointee) != std::end(kNumbers);
}

/// The words in the angle brackets at the end of a type; `name`: the text before the brackets.
std::optional<std::vector<string_view>> template_arguments(string_view type, string_view& name) {
  const std::size_t begin = type.find('<');
  if (begin == string_view::npos || !type.ends_with('>')) return {};
  name = type.substr(0, begin);
  auto parts = split(type.substr(begin + 1, type.size() - begin - 2));
  if (!parts) return {};
  for (string_view& part : *parts) part = trimmed(part);
  return parts;
}

std::uint32_t count_in(string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Classes that hold only pointers, whose type and number are the template arguments. Other classes
// of a similar name may hold other members.
constexpr string_view kArrays[] = {"std::array", "std::__1::array", "at::detail::Array",
                                   "cuda::std::array", "cuda::std::__4::array"};

bool is_array_class(string_view name) {
  return std::find(std::begin(kArrays), std::end(kArrays), name) != std::end(kArrays);
}

ParameterType type_of(string_view type) {
  type = unqualified(type);
  if (is_pointer(type)) return {Evidence::kByType, kPointerSize, only_reads(type)};
  string_view name;
  const auto arguments = template_arguments(type, name);
  if (!arguments) return {};
  if (arguments->size() == 2 && is_array_class(name) && is_pointer(arguments->front())) {
    return {Evidence::kByType, count_in(arguments->back()) * kPointerSize};
  }
  if (name == "thrust::device_ptr") return {Evidence::kByType, kPointerSize};
  return {};
}

}  // namespace

std::optional<std::vector<ParameterType>> types_of_name(std::string_view demangled) {
  const auto list = parameter_list(demangled);
  if (!list) return {};
  const auto parts = split(*list);
  if (!parts) return {};
  std::vector<ParameterType> types;
  types.reserve(parts->size());
  for (const string_view part : *parts) types.push_back(type_of(part));
  return types;
}

}  // namespace cuvmm::shim
